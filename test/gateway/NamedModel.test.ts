import { assert, it } from "@effect/vitest"

import { endpointId } from "../../src/domain/Ids.ts"
import { targetsOf } from "../../src/gateway/NamedModel.ts"
import { targetOf } from "./calls.ts"

it("An endpoint that cannot be asked for so few tokens comes after the others of its model", () => {
  const { endpoint, model } = targetOf("both")
  const responses = { ...endpoint, id: endpointId("acme/responses"), protocol: "openai-responses" } as const
  const chat = { ...endpoint, id: endpointId("acme/chat") }
  const other = targetOf("other").model
  const chosen = (outputLimit?: number) =>
    targetsOf([{ ...model, endpoints: [responses, chat] }, other], outputLimit).map((target) => target.endpoint.id)
  assert.deepStrictEqual(chosen(15), [chat.id, responses.id, other.endpoints[0].id])
  for (const limit of [16, undefined])
    assert.deepStrictEqual(chosen(limit), [responses.id, chat.id, other.endpoints[0].id])
})
