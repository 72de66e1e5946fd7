/** What a client asked for reaches a model as it was asked, or the answer says what became of it. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { modelId } from "../../src/domain/Ids.ts"
import { as, at, chunksOf, receiptOf, settledBalance, textIn, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"
import { transcribeWith } from "../support/TranscriptionForms.ts"

const messages = [user("Weather in Lima, as JSON?")]
const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false
}
const asSchema = { type: "json_schema", json_schema: { name: "weather", strict: true, schema } }
const asObject = { type: "json_object" }
const json = '{"city":"Lima"}'

const modelIds = (...ids: ReadonlyArray<string>) => ({ models: ids.map((id) => modelId(id)) })

/** Variables that put endpoints of the fake provider behind the models of other providers. */
const environment = (provider: FakeProvider["Service"]) => ({
  GROQ_API_KEY: "gsk-of-the-operator",
  GROQ_BASE_URL: provider.endpoint("groq").url,
  CEREBRAS_API_KEY: "csk-of-the-operator",
  CEREBRAS_BASE_URL: provider.endpoint("cerebras").url,
  DEEPSEEK_API_KEY: "sk-deepseek-of-the-operator",
  DEEPSEEK_BASE_URL: provider.endpoint("deepseek").url,
  GEMINI_API_KEY: "gemini-of-the-operator",
  GEMINI_BASE_URL: provider.endpoint("gemini").url
})

describeWithFakeProvider(
  "An effort",
  (it) => {
    const routes = [
      [{ reasoning_effort: "low" }, ["deepseek-v4-pro", "o3"], "o3", "low"],
      [{ reasoning_effort: "minimal" }, ["o3", "gpt-5-nano"], "gpt-5-nano", "minimal"],
      [{ reasoning_effort: "xhigh" }, ["gpt-5.1", "gpt-5.4-nano"], "gpt-5.4-nano", "xhigh"],
      [{ reasoning_effort: "medium" }, ["deepseek-flash", "o3"], "o3", "medium"],
      [{ reasoning: { max_tokens: 1_500 } }, ["deepseek-v4-pro", "o3"], "o3", "low"],
      [{}, ["deepseek-v4-pro", "gpt-4.1"], "deepseek-v4-pro", "high"]
    ] as const
    for (const [body, models, chosen, sent] of routes) {
      it.effect(`${JSON.stringify(body)} goes to the model that knows it, unchanged`, () =>
        Effect.gen(function* () {
          const provider = yield* FakeProvider
          const gateway = yield* TestGateway
          const fake = chosen.startsWith("deepseek") ? provider.endpoint("deepseek") : provider
          fake.script(Fake.answers("ok"))
          for (const among of [models, models.toReversed()]) {
            const tenant = yield* gateway.tenant("1", modelIds(...among))
            const reply = yield* gateway.chat({ messages, ...body }, as(tenant))
            assert.strictEqual(reply.at("model"), chosen, reply.text)
          }
          const wire = fake.received.at(-1)?.body
          assert.strictEqual(at(wire, "reasoning", "effort") ?? at(wire, "reasoning_effort"), sent)
        })
      )
    }

    it.effect("that no eligible model knows becomes the nearest, and the receipt and a header name it", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const deepseek = provider.endpoint("deepseek")
        const tenant = yield* gateway.tenant("1", modelIds("deepseek-v4-pro", "gpt-4.1"))
        const answers = [
          yield* gateway.chat({ messages, reasoning_effort: "low" }, as(tenant)),
          yield* gateway.chat({ model: "deepseek-v4-pro", messages, reasoning_effort: "low" }, as(tenant))
        ]
        for (const reply of answers) {
          assert.strictEqual(reply.at("model"), "deepseek-v4-pro")
          assert.strictEqual(reply.headers.get("x-svc-adjusted"), "reasoning.effort=high")
          assert.deepStrictEqual((yield* receiptOf(reply.at("id"), tenant)).at("adjusted"), ["reasoning.effort=high"])
        }
        assert.deepStrictEqual(
          deepseek.received.slice(-2).map(({ body }) => body["reasoning_effort"]),
          ["high", "high"]
        )
      })
    )
  },
  environment
)

describeWithFakeProvider("A session whose first candidate fails", (it) => {
  for (const stream of [false, true]) {
    it.effect(`is pinned to the model that answered, ${stream ? "streamed" : "plain"}`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1", modelIds("gpt-4o", "gpt-4.1"))
        const down = Fake.error(503)
        provider.script(down, down, Fake.answers("ok"))
        const body = { messages, reasoning_effort: "none", session_id: "s", stream }
        const models: Array<unknown> = []
        for (let turn = 0; turn < 3; turn++) {
          const reply = yield* gateway.chat(body, as(tenant))
          const routed = stream ? at(chunksOf(reply.text)[0], "svc", "routed_model") : reply.at("svc.routed_model")
          models.push(routed)
        }
        const sent = provider.received.map((request) => request.body["model"])
        assert.notStrictEqual(sent[0], sent[2])
        assert.deepStrictEqual(models, [sent[2], sent[2], sent[2]])
        assert.lengthOf(sent, 5, "the first model is not asked again")
      })
    )
  }

  it.effect("is pinned to one model when many requests begin it at once", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1", modelIds("gpt-4o", "gpt-4.1", "gpt-4o-mini"))
      provider.script((response, received) =>
        (received.body["model"] === "gpt-4o" ? Fake.answers("ok") : Fake.error(503))(response, received)
      )
      const body = { messages, reasoning_effort: "none", session_id: "s" }
      const answers = yield* Effect.forEach(Array.from({ length: 6 }), () => gateway.chat(body, as(tenant)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(new Set(answers.map((reply) => reply.at("svc.routed_model"))), new Set(["gpt-4o"]))
      provider.script(Fake.answers("ok"))
      assert.strictEqual((yield* gateway.chat(body, as(tenant))).at("model"), "gpt-4o")
    })
  )
})

describeWithFakeProvider("A pinned session", (it) => {
  it.effect("moves when it opts out of thinking that its model cannot stop, and stays for everything else", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.answers("ok"))
      const tenant = yield* gateway.tenant("1", modelIds("o3", "gpt-4.1"))
      const ask = (body: object) => gateway.chat({ messages, session_id: "s", ...body }, as(tenant))
      assert.strictEqual((yield* ask({ reasoning_effort: "high" })).at("model"), "o3")
      assert.strictEqual((yield* ask({ reasoning_effort: "low" })).at("model"), "o3")
      assert.strictEqual((yield* ask({ reasoning: { max_tokens: 0 } })).at("model"), "gpt-4.1")
      assert.strictEqual((yield* ask({ reasoning_effort: "none" })).at("model"), "gpt-4.1")
      const omitted = yield* ask({})
      assert.strictEqual(omitted.at("model"), "gpt-4.1")
      assert.strictEqual(omitted.headers.get("x-svc-adjusted"), "reasoning.effort=omitted")
    })
  )
})

describeWithFakeProvider(
  "JSON",
  (it) => {
    it.effect("is freed of fences, and checked before it is charged", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        for (const response_format of [asObject, asSchema]) {
          provider.script(Fake.answers(`\`\`\`json\n${json}\n\`\`\``))
          const fenced = yield* gateway.chat({ model: "claude-haiku-4-5", messages, response_format }, as(tenant))
          assert.strictEqual(fenced.at("choices.0.message.content"), json, fenced.text)
          provider.script(Fake.answers("Sure!"), Fake.answers(json))
          const again = yield* gateway.chat({ model: "gpt-4.1", messages, response_format }, as(tenant))
          assert.strictEqual(again.at("choices.0.message.content"), json, again.text)
          provider.script(Fake.answers("Sure!"))
          const before = yield* gateway.balance(tenant.organization)
          const failed = yield* gateway.chat({ model: "gpt-4.1", messages, response_format }, as(tenant))
          assert.deepStrictEqual([failed.status, failed.at("error.code")], [500, "internal_error"])
          assert.notInclude(failed.text, "Sure!")
          assert.strictEqual((yield* gateway.balance(tenant.organization)).available, before.available)
        }
        assert.isBelow(Number((yield* gateway.balance(tenant.organization)).available), Number(usd("1")))
      })
    )

    it.effect("that does not conform is asked of the next model", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1", modelIds("gpt-4o", "gpt-4.1"))
        provider.script(Fake.answers('{"town":"Lima"}'), Fake.answers(json))
        const reply = yield* gateway.chat({ messages, response_format: asSchema, reasoning_effort: "none" }, as(tenant))
        assert.strictEqual(reply.at("choices.0.message.content"), json, reply.text)
        const [first, second] = provider.received.map((request) => request.body["model"])
        assert.notStrictEqual(first, second)
        const attempts = (yield* receiptOf(reply.at("id"), tenant)).at("attempts")
        assert.deepStrictEqual([at(attempts, 0, "outcome"), at(attempts, 1, "outcome")], ["Nonconforming", "answered"])
      })
    )

    it.effect("with a schema never goes to a provider that gets the schema only in words", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const deepseek = provider.endpoint("deepseek")
        deepseek.script(Fake.answers(json))
        provider.script(Fake.answers(json))
        const body = { messages, response_format: asSchema }
        const tenant = yield* gateway.tenant("1", modelIds("deepseek-v4-pro", "o3"))
        assert.strictEqual((yield* gateway.chat(body, as(tenant))).at("model"), "o3")
        const direct = yield* gateway.chat({ ...body, model: "deepseek-v4-pro" })
        assert.deepStrictEqual([direct.status, direct.at("error.code")], [400, "invalid_request"])
        assert.lengthOf(deepseek.received, 0)
      })
    )

    it.effect("in a stream is freed of fences, and what does not conform ends as an error and costs nothing", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const before = yield* gateway.balance(tenant.organization)
        for (const model of ["gpt-4.1", "gpt-5.1"])
          for (const response_format of [asObject, asSchema]) {
            const body = { model, messages, response_format, stream: true }
            for (const text of ["Sure!", '{"city":"Li', "```json\nno\n```"]) {
              provider.script(Fake.answers(text))
              const last = chunksOf((yield* gateway.chat(body, as(tenant))).text).at(-1)
              assert.strictEqual(at(last, "choices", 0, "finish_reason"), "error", text)
              assert.strictEqual(at(last, "usage", "cost"), 0)
              assert.match(String(at(last, "error", "message")), /is not JSON. Nothing was charged$/)
            }
            assert.strictEqual(yield* settledBalance(tenant.organization), before.available)
          }
        provider.script(Fake.answers(`\`\`\`json\n${json}\n\`\`\``))
        const fenced = yield* gateway.chat(
          { model: "gpt-4.1", messages, response_format: asSchema, stream: true },
          as(tenant)
        )
        assert.strictEqual(textIn(chunksOf(fenced.text)), json)
        assert.strictEqual(at(chunksOf(fenced.text).at(-1), "choices", 0, "finish_reason"), "stop")
      })
    )

    it.effect("in words is checked before it is streamed, and a model with a mode of its own comes first", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        provider.script(Fake.answers(`\`\`\`json\n${json}\n\`\`\``))
        const body = { messages, response_format: asObject, stream: true, reasoning_effort: "none" }
        const direct = yield* gateway.chat({ ...body, model: "claude-haiku-4-5" })
        assert.strictEqual(textIn(chunksOf(direct.text)), json)
        assert.notStrictEqual(provider.received[0]?.body["stream"], true)
        const tenant = yield* gateway.tenant("1", modelIds("claude-haiku-4-5", "gpt-4.1"))
        const routed = yield* gateway.chat({ ...body, stream: false }, as(tenant))
        assert.strictEqual(routed.at("model"), "gpt-4.1")
      })
    )

    it.effect("that an endpoint refuses together with streaming or tools is asked elsewhere, or in one piece", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const [groq, cerebras] = [provider.endpoint("groq"), provider.endpoint("cerebras")]
        const refuses = Fake.error(400, { message: "response_format json_schema cannot be combined with streaming" })
        groq.script((response, received) =>
          (received.body["stream"] === true || "tools" in received.body ? refuses : Fake.answers(json))(
            response,
            received
          )
        )
        cerebras.script(Fake.answers(json))
        const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }]
        const body = { messages, response_format: asSchema }
        const streamed = yield* gateway.chat({ ...body, model: "gpt-oss-120b", stream: true })
        assert.strictEqual(textIn(chunksOf(streamed.text)), json)
        const withTools = yield* gateway.chat({ ...body, model: "gpt-oss-120b", tools })
        assert.strictEqual(withTools.at("choices.0.message.content"), json, withTools.text)
        assert.deepStrictEqual([groq.received.length, cerebras.received.length], [0, 2])
        const alone = yield* gateway.chat({ ...body, model: "gpt-oss-20b", stream: true })
        assert.strictEqual(textIn(chunksOf(alone.text)), json, alone.text)
        const unable = yield* gateway.chat({ ...body, model: "gpt-oss-20b", tools })
        assert.deepStrictEqual([unable.status, unable.at("error.code")], [400, "invalid_request"])
        // What one endpoint does not support is not the client's fault while another is left.
        const plain = yield* gateway.chat({ ...body, model: "gpt-oss-120b" })
        assert.strictEqual(plain.status, 200)
        groq.script(Fake.error(400, { message: "json_schema is not supported with this model" }))
        assert.strictEqual((yield* gateway.chat({ ...body, model: "gpt-oss-120b" })).status, 200)
      })
    )
  },
  environment
)

describeWithFakeProvider("A parameter", (it) => {
  it.effect("that the named model does not take is named in a header and in the receipt", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.answers("ok"))
      const body = { model: "claude-haiku-4-5", messages, temperature: 1.5, top_p: 0.9, frequency_penalty: 0.5 }
      const reply = yield* gateway.chat(body)
      const adjusted = ["temperature=1", "top_p=omitted", "frequency_penalty=omitted"]
      assert.strictEqual(reply.headers.get("x-svc-adjusted"), adjusted.join(", "))
      assert.deepStrictEqual((yield* receiptOf(reply.at("id"))).at("adjusted"), adjusted)
      const streamed = yield* gateway.chat({ ...body, stream: true })
      assert.strictEqual(streamed.headers.get("x-svc-adjusted"), adjusted.join(", "))
      const plain = yield* gateway.chat({ ...body, temperature: 1, top_p: 1, frequency_penalty: 0 })
      assert.isNull(plain.headers.get("x-svc-adjusted"))
    })
  )

  for (const stream of [false, true])
    it.effect(`that is named for an answer is also named for its replay (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        provider.script(Fake.answers("ok"))
        for (const [more, adjusted] of [
          [{ temperature: 1.5, top_p: 0.9 }, ["temperature=1", "top_p=omitted"]],
          [{}, undefined]
        ] as const) {
          const headers = { ...as(tenant), "idempotency-key": `key-${String(adjusted)}` }
          const body = { model: "claude-haiku-4-5", messages, stream, ...more }
          const replies = [yield* gateway.chat(body, headers), yield* gateway.chat(body, headers)]
          assert.strictEqual(replies[1]?.headers.get("idempotent-replayed"), "true")
          for (const reply of replies) {
            assert.strictEqual(reply.headers.get("x-svc-adjusted"), adjusted?.join(", ") ?? null)
            if (stream) assert.deepStrictEqual(at(chunksOf(reply.text).at(-1), "svc", "adjusted"), adjusted)
          }
        }
      })
    )

  it.effect("leads a routed request to a model that takes it", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.answers("ok"))
      const tenant = yield* gateway.tenant("1", modelIds("gpt-4.1", "claude-haiku-4-5", "gpt-6-luna"))
      for (const parameter of [{ frequency_penalty: 0.5 }, { temperature: 1.5 }, { top_p: 0.5, temperature: 0.5 }]) {
        const body = { messages, reasoning_effort: "none", ...parameter }
        const reply = yield* gateway.chat(body, as(tenant))
        assert.isNull(reply.headers.get("x-svc-adjusted"), JSON.stringify(parameter))
        assert.deepInclude(provider.received.at(-1)?.body, parameter)
      }
    })
  )
})

describeWithFakeProvider(
  "An option of a transcription",
  (it) => {
    for (const response_format of ["json", "text"])
      it.effect(`that the named model does not take is named, also in a replay (${response_format})`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const provider = yield* FakeProvider
          const tenant = yield* gateway.tenant("1")
          provider.endpoint("mistral").script(Fake.reply(200, { text: "Hello." }))
          const headers = { ...as(tenant), "idempotency-key": "key-1" }
          const fields = { model: "voxtral-mini-latest", prompt: "Names", language: "en", response_format }
          for (const isReplay of [false, true]) {
            const reply = yield* transcribeWith(fields, headers)
            assert.strictEqual(reply.headers.get("idempotent-replayed"), isReplay ? "true" : null, reply.text)
            assert.strictEqual(reply.headers.get("x-svc-adjusted"), "prompt=omitted")
            if (isReplay) continue
            const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
            assert.deepStrictEqual(receipt.at("adjusted"), ["prompt=omitted"])
          }
          const plain = yield* transcribeWith({ model: "voxtral-mini-latest", language: "en" }, as(tenant))
          assert.isNull(plain.headers.get("x-svc-adjusted"))
        })
      )

    it.effect("leads to a model that takes it, where the gateway chooses", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const mistral = provider.endpoint("mistral")
        for (const [fields, calls] of [
          [{ prompt: "Names" }, 0],
          [{ language: "en" }, 1]
        ] as const) {
          provider.script(Fake.reply(200, { text: "Hello." }))
          mistral.script(Fake.reply(200, { text: "Hello." }))
          const reply = yield* transcribeWith({ model: "svc-auto", ...fields })
          assert.isNull(reply.headers.get("x-svc-adjusted"), reply.text)
          assert.deepStrictEqual([mistral.received.length, provider.received.length], [calls, 1 - calls])
        }
      })
    )
  },
  (provider) => ({
    MISTRAL_API_KEY: "mistral-of-the-operator",
    MISTRAL_BASE_URL: provider.endpoint("mistral").url,
    TRANSCRIPTION_MODEL: "voxtral-mini-latest"
  })
)
