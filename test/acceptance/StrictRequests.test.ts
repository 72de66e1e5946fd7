/** No parameter is changed in silence: what becomes of it is named, and a client may insist that nothing does. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { modelId } from "../../src/domain/Ids.ts"
import { as, at, chunksOf, receiptOf, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, type Reply, TestGateway } from "../support/TestGateway.ts"

const messages = [user("Why is the sky blue?")]
const claude = { model: "claude-haiku-4-5", messages }
const strict = { svc: { strict: true } }

const modelIds = (...ids: ReadonlyArray<string>) => ({ models: ids.map((id) => modelId(id)) })

/** The object `svc` of an answer: of a stream, that of the last chunk. */
const svcOf = (reply: Reply, stream: boolean): unknown =>
  stream ? at(chunksOf(reply.text).at(-1), "svc") : reply.at("svc")

describeWithFakeProvider("What a model does not get", (it) => {
  for (const stream of [false, true])
    it.effect(`is named in the answer, the header and the receipt (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        provider.script(Fake.answers("ok"))
        const body = { ...claude, stream, temperature: 1.5, top_p: 0.5, seed: 7, user: "u", top_k: 3 }
        const reply = yield* gateway.chat(body)
        const adjusted = ["temperature=1", "top_p=omitted", "seed=omitted", "user=omitted", "top_k=omitted"]
        assert.strictEqual(reply.headers.get("x-svc-adjusted"), adjusted.join(", "))
        assert.deepStrictEqual(svcOf(reply, stream), {
          routed: false,
          routed_model: null,
          routing_latency_ms: null,
          ...(stream && { adjusted }),
          dropped: ["top_p"]
        })
        const id = stream ? at(chunksOf(reply.text)[0], "id") : reply.at("id")
        assert.deepStrictEqual((yield* receiptOf(id)).at("adjusted"), adjusted)
        assert.doesNotHaveAnyKeys(provider.received.at(-1)?.body, ["seed", "user", "top_k", "top_p"])
      })
    )

  it.effect("is not only parameters: thinking of another model is named as well", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.answers("ok"))
      const thought = { type: "reasoning.text", text: "Hm.", signature: "sig", id: "google/gemini-4-argon##" }
      const history = [user("Hi"), { role: "assistant", content: "Yes", reasoning_details: [thought] }, user("Why?")]
      const body = { ...claude, messages: history }
      const reply = yield* gateway.chat(body)
      assert.strictEqual(reply.headers.get("x-svc-adjusted"), "messages.reasoning_details=omitted")
      assert.deepStrictEqual(reply.at("svc.dropped"), ["messages.reasoning_details"])
      assert.strictEqual((yield* gateway.chat({ ...body, ...strict })).at("error.code"), "unsupported_parameter")
    })
  )
})

describeWithFakeProvider("A strict request", (it) => {
  for (const stream of [false, true]) {
    it.effect(`to a model that takes everything is answered (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        provider.script(Fake.answers("ok"))
        const reply = yield* gateway.chat({ ...claude, ...strict, stream, temperature: 0.5 })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.isNull(reply.headers.get("x-svc-adjusted"))
        assert.notProperty(svcOf(reply, stream), "adjusted")
        assert.notProperty(provider.received.at(-1)?.body, "svc")
      })
    )

    it.effect(`to a model that does not is refused before anything is called (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const calls = provider.received.length
        const tenant = yield* gateway.tenant("1")
        const body = { ...claude, stream, temperature: 1.5, frequency_penalty: 0.5, seed: 7 }
        const reply = yield* gateway.chat({ ...body, ...strict }, as(tenant))
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "unsupported_parameter"])
        assert.strictEqual(
          reply.at("error.message"),
          "strict allows no change of a parameter. claude-haiku-4-5 would get the request with " +
            "temperature changed to 1, frequency_penalty left out, seed left out"
        )
        assert.strictEqual(provider.received.length, calls)
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      })
    )

    it.effect(`that is routed goes only to models that take everything (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        provider.script(Fake.answers("ok"))
        const body = { messages, stream, reasoning_effort: "none", frequency_penalty: 0.5 }
        const tenant = yield* gateway.tenant("1", modelIds("gpt-4.1", "claude-haiku-4-5", "claude-sonnet-4-5"))
        const reply = yield* gateway.chat({ ...body, ...strict }, as(tenant))
        assert.strictEqual(reply.status, 200, reply.text)
        assert.deepInclude(provider.received.at(-1)?.body, { model: "gpt-4.1", frequency_penalty: 0.5 })
        const only = yield* gateway.tenant("1", modelIds("claude-haiku-4-5", "claude-sonnet-4-5"))
        const refused = yield* gateway.chat({ ...body, ...strict }, as(only))
        assert.strictEqual(refused.at("error.code"), "unsupported_parameter")
        assert.match(
          String(refused.at("error.message")),
          /claude-haiku-4-5 and claude-sonnet-4-5 would get the request with frequency_penalty left out$/
        )
        const lenient = yield* gateway.chat(body, as(only))
        assert.strictEqual(lenient.headers.get("x-svc-adjusted"), "frequency_penalty=omitted")
      })
    )
  }

  it.effect("fails over to no model that would get a parameter changed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.error(503, { message: "busy" }))
      const tenant = yield* gateway.tenant("1", modelIds("gpt-4.1-mini", "claude-haiku-4-5", "claude-sonnet-4-5"))
      const first = provider.received.length
      const body = { messages, reasoning_effort: "none", frequency_penalty: 0.5 }
      const reply = yield* gateway.chat({ ...body, ...strict }, as(tenant))
      assert.strictEqual(reply.at("error.code"), "internal_error")
      const called = provider.received.slice(first).map((received) => at(received.body, "model"))
      assert.deepStrictEqual([...new Set(called)], ["gpt-4.1-mini"])
    })
  )

  it.effect("may be routed with the effort that it did not ask for, whatever a model makes of that", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.answers("ok"))
      const tenant = yield* gateway.tenant("1", modelIds("claude-haiku-4-5"))
      const reply = yield* gateway.chat({ messages, ...strict }, as(tenant))
      assert.strictEqual(reply.status, 200, reply.text)
      assert.match(reply.headers.get("x-svc-adjusted") ?? "", /^reasoning\.max_tokens=\d+$/)
      const asked = yield* gateway.chat({ messages, reasoning_effort: "high", ...strict }, as(tenant))
      assert.strictEqual(asked.at("error.code"), "unsupported_parameter")
    })
  )

  it.effect("moves the pin of its session from a model that would get a parameter changed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.answers("ok"))
      const both = yield* gateway.tenant("1", modelIds("gpt-4.1", "claude-haiku-4-5"))
      const body = { messages, session_id: "strict", reasoning_effort: "none" }
      const pinned = String((yield* gateway.chat(body, as(both))).at("model"))
      const parameter = pinned === "gpt-4.1" ? { cache_control: { type: "ephemeral" } } : { frequency_penalty: 0.5 }
      const reply = yield* gateway.chat({ ...body, ...parameter, ...strict }, as(both))
      assert.strictEqual(reply.status, 200, reply.text)
      assert.notStrictEqual(reply.at("model"), pinned)
    })
  )

  it.effect("with a member that is not known is refused by its name", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const reply = yield* gateway.chat({ ...claude, svc: { strickt: true } })
      assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "unsupported_parameter"])
      assert.match(String(reply.at("error.message")), /^svc\.strickt /)
    })
  )
})

/** Each face with a body that its model does not get as it is, and the event that has `svc` at the end of a stream. */
const otherFaces = [
  { path: "/v1/responses", body: { model: "claude-haiku-4-5", input: "Hi" }, last: /"type":"response.completed"/ },
  {
    path: "/v1/messages",
    body: { model: "claude-haiku-4-5", max_tokens: 100, messages: [user("Hi")] },
    last: /"type":"message_delta"/
  }
]

describeWithFakeProvider("Parameters of responses and messages", (it) => {
  for (const { body, last, path } of otherFaces) {
    it.effect(`are named where a model does not get them, and refused when asked to be (${path})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        provider.script(Fake.answers("ok"))
        const changed = { ...body, temperature: 0.5, top_p: 0.5 }
        const plain = yield* gateway.request("POST", path, changed)
        assert.deepStrictEqual([plain.status, plain.at("svc.dropped")], [200, ["top_p"]], plain.text)
        const stream = yield* gateway.request("POST", path, { ...changed, stream: true })
        const end = stream.text.split("\n").find((line) => line.startsWith("data: ") && last.test(line)) ?? ""
        const event: unknown = JSON.parse(end.slice("data: ".length))
        assert.deepInclude(at(event, "svc") ?? at(event, "response", "svc"), {
          adjusted: ["top_p=omitted"],
          dropped: ["top_p"]
        })
        const calls = provider.received.length
        for (const more of [{}, { stream: true }]) {
          const refused = yield* gateway.request("POST", path, { ...changed, ...strict, ...more })
          assert.deepStrictEqual([refused.status, refused.at("error.code")], [400, "unsupported_parameter"])
          assert.match(String(refused.at("error.message")), /claude-haiku-4-5 .* top_p left out$/)
        }
        assert.strictEqual(provider.received.length, calls)
        const taken = yield* gateway.request("POST", path, { ...body, ...strict })
        assert.deepStrictEqual([taken.status, taken.at("svc.dropped")], [200, undefined], taken.text)
      })
    )

    it.effect(`may be ones that nobody knows, which are named too (${path})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        provider.script(Fake.answers("ok"))
        const unknown = { ...body, seed: 7, "not a header value": 1 }
        const reply = yield* gateway.request("POST", path, unknown)
        assert.strictEqual(reply.headers.get("x-svc-adjusted"), "seed=omitted, other=omitted", reply.text)
        const refused = yield* gateway.request("POST", path, { ...unknown, ...strict })
        assert.strictEqual(refused.at("error.code"), "unsupported_parameter")
      })
    )
  }
})
