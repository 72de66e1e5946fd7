/** The member of a chat request that is named after the service. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { readChatBody } from "../../../src/http/chat/ChatBody.ts"

const messages = [{ role: "user", content: "Hello" }]

const read = (fields: object, autoModel = "svc-auto") =>
  readChatBody(JSON.stringify({ messages, ...fields }), { autoModel, sessionHeader: undefined })

const strictIn = (fields: object, autoModel?: string) => Result.getOrThrow(read(fields, autoModel)).strict

const refusalOf = (fields: object, autoModel?: string) =>
  Result.match(read(fields, autoModel), {
    onSuccess: () => assert.fail("the body was accepted"),
    onFailure: ({ error }) => [error.code, error.message]
  })

describe("The member of the service", () => {
  it("is read under the name of the service, and under no other", () => {
    assert.isTrue(strictIn({ svc: { strict: true } }))
    assert.isTrue(strictIn({ acme: { strict: true } }, "acme-auto"))
    assert.isUndefined(strictIn({ svc: { strict: true } }, "acme-auto"))
    assert.isUndefined(strictIn({ svc: 7 }, "acme-auto"))
    for (const svc of [null, {}, { strict: false }, { strict: null }]) assert.isUndefined(strictIn({ svc }))
  })

  it("may have what transcriptions have in it", () => {
    assert.isTrue(
      strictIn({ svc: { strict: true, call_name: "a", end_user_id: "b", memory: {}, eval: 1, policy: [] } })
    )
  })

  it("is refused with the name of what is wrong in it", () => {
    assert.deepStrictEqual(refusalOf({ svc: "strict" }), ["invalid_request", "svc: Expected an object"])
    assert.deepStrictEqual(refusalOf({ svc: [] }), ["invalid_request", "svc: Expected an object"])
    assert.deepStrictEqual(refusalOf({ svc: { strict: "yes" } }), ["invalid_request", "svc.strict: Expected boolean"])
    assert.deepStrictEqual(refusalOf({ acme: { stritc: true } }, "acme-auto"), [
      "unsupported_parameter",
      "acme.stritc is not supported"
    ])
  })
})
