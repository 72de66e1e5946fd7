import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, at, awaited, eventually, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { lineOf, linesOf, type LogLine } from "../support/LogLines.ts"
import { describeGateway, describeWithFakeProvider, type Reply, TestGateway } from "../support/TestGateway.ts"

const accessLine = ({ headers }: Reply) => lineOf("Request", headers.get("x-request-id"))

/** What does not depend on the clock. */
const timeless = ({ annotations: { durationMillis, firstOutputMillis, ...rest } }: LogLine) => {
  assert.isNumber(durationMillis)
  if (rest["stream"] === true) assert.isNumber(firstOutputMillis)
  else assert.isUndefined(firstOutputMillis)
  return rest
}

/** A stream whose first output has reached the client, and that goes on until somebody ends it. */
const openStream = Effect.gen(function* () {
  const gateway = yield* TestGateway
  const provider = yield* FakeProvider
  const cut = Promise.withResolvers<void>()
  provider.script((answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream" }).write(Fake.openaiChunk({ content: "Hello" }))
    void cut.promise.then(() => answer.destroy())
  })
  const controller = new AbortController()
  const response = yield* Effect.promise(() =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}` },
      body: JSON.stringify({ model: "gpt-4o-mini", stream: true, messages: [user("Hello")] }),
      signal: controller.signal
    })
  )
  const request = response.headers.get("x-request-id")
  return { request, response, breakOff: () => cut.resolve(), abort: () => controller.abort() }
})

describeWithFakeProvider("The access log", (it) => {
  for (const stream of [false, true])
    it.effect(`has one line for ${stream ? "a stream" : "a plain answer"}, with who, what and for how much`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        provider.script(Fake.answers("Hello to you"))
        const tenant = yield* gateway.tenant("1")
        const reply = yield* gateway.chat({ model: "gpt-4o-mini", stream, messages: [user("Hello")] }, as(tenant))
        const line = yield* accessLine(reply)
        assert.strictEqual(line.level, "INFO")
        const { costPicodollars, inputTokens, outputTokens, ...rest } = timeless(line)
        assert.deepStrictEqual(rest, {
          request: reply.headers.get("x-request-id"),
          method: "POST",
          route: "/v1/chat/completions",
          status: 200,
          outcome: "completed",
          organization: tenant.organization,
          key: tenant.keyId,
          requestedModel: "gpt-4o-mini",
          routed: false,
          model: "gpt-4o-mini",
          endpoint: "openai/gpt-4o-mini",
          provider: "openai",
          attempts: 1,
          stream
        })
        for (const count of [costPicodollars, inputTokens, outputTokens]) assert.isAbove(Number(count), 0)
        const { available, held } = yield* gateway.balance(tenant.organization)
        assert.strictEqual(1_000_000_000_000n - available - held, BigInt(Number(costPicodollars)))
        const all = yield* linesOf("Request")
        assert.lengthOf(
          all.filter(({ annotations }) => annotations["request"] === reply.headers.get("x-request-id")),
          1
        )
      })
    )

  it.effect("names the model of a routed request, and whether its session is pinned", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.answers("Hello to you"))
      const send = gateway.chat({ session_id: "a session of the access log", messages: [user("Hello")] })
      const [first, second] = [yield* send, yield* send]
      assert.deepInclude((yield* accessLine(first)).annotations, { routed: true, pinned: false })
      const { annotations } = yield* accessLine(second)
      assert.deepInclude(annotations, { routed: true, pinned: true, model: second.at("svc.routed_model") })
      assert.notProperty(annotations, "requestedModel")
    })
  )

  it.effect("has the line of a stream at its end: broken, or aborted by its client", () =>
    Effect.gen(function* () {
      const broken = yield* openStream
      broken.breakOff()
      yield* awaited(broken.response.text(), "the end of the stream")
      const ended = yield* lineOf("Request", broken.request)
      assert.deepInclude(ended.annotations, { status: 200, outcome: "failed", error: "broken", costPicodollars: 0 })

      const left = yield* openStream
      const sofar = (yield* linesOf("Request")).filter(({ annotations }) => annotations["request"] === left.request)
      assert.lengthOf(sofar, 0)
      left.abort()
      const aborted = yield* lineOf("Request", left.request)
      assert.deepInclude(aborted.annotations, { status: 200, outcome: "aborted", stream: true })
      assert.isAbove(Number(aborted.annotations["costPicodollars"]), 0)
    })
  )

  it.effect("has the line of a request whose client left before it was answered", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.hangs)
      const tenant = yield* gateway.tenant("1")
      const controller = new AbortController()
      const left = fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: as(tenant),
        body: JSON.stringify({ model: "gpt-4o-mini", messages: [user("Hello")] }),
        signal: controller.signal
      }).catch(() => "left")
      yield* awaited(provider.arrival(), "the request at the provider")
      controller.abort()
      assert.strictEqual(yield* awaited(left, "the end of the call"), "left")
      const ofTenant = Effect.map(linesOf("Request"), (lines) =>
        lines.find(({ annotations }) => annotations["organization"] === tenant.organization)
      )
      const { annotations } = yield* eventually(ofTenant, "the line of the request")
      assert.deepInclude(annotations, { status: 499, outcome: "aborted", costPicodollars: 0 })
    })
  )

  it.effect("has a line for every refusal, with the pattern of the route and never its path or query", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const hidden = "a-name-in-the-path"
      const refused: ReadonlyArray<readonly [Effect.Effect<Reply>, object]> = [
        [gateway.chat({ messages: [] }), { status: 400, route: "/v1/chat/completions" }],
        [gateway.chat({ model: "gpt-4o-mini" }, { authorization: "Bearer wrong" }), { status: 401 }],
        [gateway.request("GET", `/v1/models/${hidden}`), { status: 404, route: "/v1/models/:id" }],
        [gateway.request("GET", `/v1/${hidden}?q=${hidden}`), { status: 404, route: "none" }],
        [gateway.request("PUT", "/v1/models"), { status: 405, route: "/v1/models", method: "PUT" }]
      ]
      for (const [send, expected] of refused) {
        const line = yield* accessLine(yield* send)
        assert.deepInclude(line.annotations, { outcome: "failed", ...expected })
        assert.strictEqual(line.level, "INFO")
        assert.notInclude(JSON.stringify(line), hidden)
      }
      const line = yield* accessLine(yield* gateway.chat({ model: "no-such-model", messages: [user("Hello")] }))
      assert.deepInclude(line.annotations, { status: 400, error: "invalid_model", requestedModel: "no-such-model" })
    })
  )

  it.effect("keeps the lines of probes below Info", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const path of ["/health/live", "/health/ready"]) {
        const line = yield* accessLine(yield* gateway.request("GET", path))
        assert.strictEqual(line.level, "DEBUG")
        assert.strictEqual(at(line.annotations, "route"), path)
      }
    })
  )
})

describeGateway(
  "The access log, switched off",
  (it) => {
    it.effect("has no lines", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        assert.strictEqual((yield* gateway.chat({ model: "gpt-4o-mini", messages: [user("Hello")] })).status, 200)
        assert.strictEqual((yield* gateway.request("GET", "/v1/models")).status, 200)
        assert.lengthOf(yield* linesOf("Request"), 0)
      })
    )
  },
  { ACCESS_LOG: "false" }
)
