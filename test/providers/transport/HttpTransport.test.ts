import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"

import { Catalog } from "../../../src/catalog/Catalog.ts"
import { providerId } from "../../../src/domain/Ids.ts"
import { type ErrorResponse } from "../../../src/providers/protocols/Protocol.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import type { Behaviour } from "../../support/fake-provider/FakeProvider.ts"
import { FakeTargets, json, protocol, quick, status, testLayer } from "../dispatch/FakeTargets.ts"

const send = Effect.fnUntraced(function* (behaviour: Behaviour) {
  const fake = yield* FakeTargets
  const catalog = yield* Catalog
  const transport = yield* HttpTransport
  const target = fake.target("x", behaviour)
  const account = catalog.account(providerId("x")) ?? assert.fail("no account")
  const seen: Array<ErrorResponse> = []
  const failure = (response: ErrorResponse) => {
    seen.push(response)
    return protocol.failure(response)
  }
  const wire = { path: "/path", headers: { "x-extra": "1" }, body: { question: "why" } }
  const result = yield* Effect.result(transport.json({ account, wire, failure }))
  return { received: fake.received(target), result, seen }
})

describe("HttpTransport", () => {
  it.live("sends the body, the protocol's headers and our key, but no trace headers", () =>
    Effect.gen(function* () {
      const { received, result } = yield* send(json({ fine: true })).pipe(Effect.withSpan("request"))
      const { headers, path } = received[0] ?? assert.fail("nothing was received")
      assert.deepInclude(result, { _tag: "Success", success: { fine: true } })
      assert.strictEqual(path, "/path")
      assert.strictEqual(headers["authorization"], "Bearer secret")
      assert.strictEqual(headers["x-extra"], "1")
      assert.strictEqual(headers["content-type"], "application/json")
      assert.deepStrictEqual(
        Object.keys(headers).filter((name) => /trace|^b3$/.test(name)),
        []
      )
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("passes at most 64 KiB of an error's body to the protocol, without waiting for more", () =>
    Effect.gen(function* () {
      const { seen } = yield* send((response) => {
        response.writeHead(500, { "content-type": "text/plain", "retry-after": "3" })
        response.write("x".repeat(100_000))
      })
      assert.deepStrictEqual(
        seen.map(({ status, body, headers }) => [status, body.length, headers["retry-after"]]),
        [[500, 65_536, "3"]]
      )
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("fails when the answer is larger than the limit", () =>
    Effect.gen(function* () {
      const { result } = yield* send((response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(Buffer.alloc(33 * 1024 * 1024, " "))
      })
      assert.deepInclude(result, { _tag: "Failure" })
      if (result._tag === "Failure") assert.include(result.failure.message, "too large")
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("treats a redirect as an error, because our key must not be sent elsewhere", () =>
    Effect.gen(function* () {
      const { seen } = yield* send(status(302, { location: "http://127.0.0.1:1/" }))
      assert.strictEqual(seen[0]?.status, 302)
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("fails at the deadline of the call while the provider keeps sending", () =>
    Effect.gen(function* () {
      const { result } = yield* send((response) => {
        response.writeHead(200, { "content-type": "application/json" })
        const timer = setInterval(() => response.write(" "), 20)
        response.on("close", () => clearInterval(timer))
      })
      assert.deepInclude(result, { _tag: "Failure" })
      if (result._tag === "Failure") assert.deepInclude(result.failure.reason, { kind: "timeout" })
    }).pipe(Effect.provide(testLayer({}, { ...quick, call: Duration.millis(300) })))
  )
})
