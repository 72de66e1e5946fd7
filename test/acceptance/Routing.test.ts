import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import type { ModelId } from "../../src/domain/Ids.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { as, at, type Json, receiptOf, timeTool, user } from "../support/Chat.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, TestGateway } from "../support/TestGateway.ts"

const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
const audio = { type: "input_audio", input_audio: { data: "SUQzBAAAAAAAI1RTU0UAAAAPAAAD", format: "mp3" } }
const text = { type: "text", text: "What is this?" }

const easy = [user("What is the capital of Australia?")]
const hard = [
  user(
    "Prove that every finite abelian group is isomorphic to a direct product of cyclic groups of prime power order. " +
      "Be rigorous, state every lemma, and derive the number of such groups of order 10000."
  )
]

/** A catalog with a model that cannot call tools, has a small context window, and is cheaper than all others. */
const overlay = (): string => {
  const file = join(inject("scratch"), `catalog-${process.pid}.json`)
  const price_usd_per_mtok = { input: 0.01, output: 0.01 }
  const endpoints = [{ provider: "openai", price_usd_per_mtok }]
  const talker = { id: "talker", context_window: 4_000, max_output: 1_000, tools: false, endpoints }
  writeFileSync(file, JSON.stringify({ models: [talker] }))
  return file
}

const modelIds = (...ids: ReadonlyArray<string>): { readonly models: ReadonlyArray<ModelId> } => ({
  models: ids.map((id) => modelId(id))
})

/** Two models that a key may use, a request, and the model that must answer it. */
const eligible: ReadonlyArray<{
  readonly title: string
  readonly among: readonly [string, string]
  readonly body: Json
  readonly chosen: string
}> = [
  {
    title: "sends tools only to models that can call them",
    among: ["talker", "gpt-4.1"],
    body: { messages: easy, tools: [timeTool], reasoning_effort: "none" },
    chosen: "gpt-4.1"
  },
  {
    title: "sends a forced tool only to models that can be forced",
    among: ["claude-sonnet-5-5", "claude-opus-4-8"],
    body: { messages: easy, tools: [timeTool], tool_choice: "required" },
    chosen: "claude-opus-4-8"
  },
  {
    title: "sends a named tool only to models that can be forced",
    among: ["claude-sonnet-5-5", "claude-opus-4-8"],
    body: { messages: easy, tools: [timeTool], tool_choice: { type: "function", function: { name: "get_time" } } },
    chosen: "claude-opus-4-8"
  },
  {
    title: "sends a long prompt only to models with a large enough context window",
    among: ["talker", "gpt-4.1"],
    body: { messages: [user("word ".repeat(5_000))], reasoning_effort: "none" },
    chosen: "gpt-4.1"
  },
  {
    title: "sends a JSON schema only to models with structured output",
    among: ["gpt-audio-mini", "gpt-4.1"],
    body: {
      messages: easy,
      reasoning_effort: "none",
      response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } }
    },
    chosen: "gpt-4.1"
  },
  {
    title: "sends an image to a model with image input",
    among: ["codestral-latest", "gpt-4.1"],
    body: { messages: [{ role: "user", content: [text, image] }], reasoning_effort: "none" },
    chosen: "gpt-4.1"
  },
  {
    title: "sends an image in an earlier message to a model with image input",
    among: ["gpt-oss-120b", "gpt-5-nano"],
    body: { messages: [{ role: "user", content: [image] }, { role: "assistant", content: "A dot." }, ...easy] },
    chosen: "gpt-5-nano"
  },
  {
    title: "sends audio to a model with audio input, although none of them reasons",
    among: ["gpt-5-nano", "gpt-audio"],
    body: { messages: [{ role: "user", content: [text, audio] }] },
    chosen: "gpt-audio"
  },
  {
    title: "sends a request without reasoning parameters only to models that reason",
    among: ["gpt-4o-mini", "o3"],
    body: { messages: easy },
    chosen: "o3"
  },
  ...[{ reasoning_effort: "none" }, { reasoning: { enabled: false } }, { reasoning: { effort: "none" } }].map(
    (reasoning) => ({
      title: `${JSON.stringify(reasoning)} is sent only to models whose reasoning can be switched off`,
      among: ["gpt-5-nano", "gpt-4o"] as const,
      body: { messages: easy, ...reasoning },
      chosen: "gpt-4o"
    })
  ),
  {
    title: "prefers reasoning to reasoning_effort",
    among: ["gpt-5-nano", "gpt-4o"],
    body: { messages: easy, reasoning: { enabled: false }, reasoning_effort: "high" },
    chosen: "gpt-4o"
  }
]

describeGateway(
  "Smart routing",
  (it) => {
    for (const { among, body, chosen, title } of eligible)
      it.effect(title, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          for (const models of [among, among.toReversed()]) {
            const tenant = yield* gateway.tenant("1", modelIds(...models))
            const reply = yield* gateway.chat(body, as(tenant))
            assert.strictEqual(reply.status, 200, reply.text)
            assert.strictEqual(reply.at("model"), chosen)
            assert.strictEqual(reply.at("svc.routed_model"), chosen)
            const { candidates } = (yield* receiptOf(reply.at("id"), tenant)).at("routing") as Json
            assert.lengthOf(candidates as ReadonlyArray<Json>, 1, "the other model is not even a candidate")
          }
        })
      )

    it.effect("sends a hard conversation to a more capable model than an easy one, always the same", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const route = (messages: unknown) => Effect.map(gateway.chat({ messages }), (reply) => reply.at("model"))
        const [simple, demanding] = [yield* route(easy), yield* route(hard)]
        assert.notStrictEqual(simple, demanding)
        assert.deepStrictEqual([yield* route(easy), yield* route(hard)], [simple, demanding])
      })
    )

    it.effect("ignores the text beside an image", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const ask = (text: string) =>
          Effect.map(gateway.chat({ messages: [user(text), { role: "user", content: [image] }] }), (reply) => reply)
        const [simple, demanding] = [yield* ask("Hi"), yield* ask(String(hard[0]?.content))]
        assert.strictEqual(simple.at("model"), demanding.at("model"))
        assert.deepStrictEqual((yield* receiptOf(simple.at("id"))).at("routing.demand"), {})
        const card = yield* gateway.request("GET", `/v1/models/${String(simple.at("model"))}`)
        assert.include(card.at("svc.input_modalities") as ReadonlyArray<string>, "image")
      })
    )

    it.effect("reports why no model is eligible, and charges nothing", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const deaf = yield* gateway.tenant("1", modelIds("gpt-4o", "codestral-latest"))
        const reply = yield* gateway.chat({ messages: [{ role: "user", content: [audio] }] }, as(deaf))
        assert.strictEqual(reply.status, 400)
        assert.strictEqual(reply.at("error.code"), "invalid_request")
        assert.match(String(reply.at("error.message")), /audio/)
      })
    )

    it.effect("does not affect a direct call, which is refused when its model lacks a capability", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const refused = [
          { model: "codestral-latest", messages: [{ role: "user", content: [image] }] },
          { model: "gpt-4o", messages: [{ role: "user", content: [audio] }] },
          { model: "talker", messages: easy, tools: [timeTool] },
          { model: "claude-sonnet-5-5", messages: easy, tools: [timeTool], tool_choice: "required" }
        ]
        for (const body of refused) {
          const reply = yield* gateway.chat(body)
          assert.strictEqual(reply.status, 400, body.model)
          assert.strictEqual(reply.at("error.code"), "invalid_request")
          assert.include(String(reply.at("error.message")), body.model)
        }
        const reply = yield* gateway.chat({ model: "talker", messages: hard })
        assert.strictEqual(reply.at("model"), "talker")
        assert.isFalse(reply.at("svc.routed"))
      })
    )

    it.effect("is explained in the receipt", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const reply = yield* gateway.chat({ messages: easy })
        const receipt = yield* receiptOf(reply.at("id"))
        assert.isNull(receipt.at("requested_model"))
        assert.isFalse(receipt.at("routing.pinned"))
        assert.strictEqual(receipt.at("routing.candidates.0.model"), reply.at("model"))
        const excluded = receipt.at("routing.excluded") as ReadonlyArray<Json>
        assert.deepInclude(excluded, { model: "gpt-4o-mini", because: "reasoning_tier" })
        assert.strictEqual(receipt.at("routing.latency_ms"), reply.at("svc.routing_latency_ms"))
      })
    )
  },
  { CATALOG_FILE: overlay() }
)

/** The reasoning parameters of a request, and what the providers get. */
const forwarded: ReadonlyArray<readonly [reasoning: Json, openai: string | undefined, claude: string | undefined]> = [
  [{}, "high", "high"],
  [{ reasoning: null, reasoning_effort: null }, "high", "high"],
  [{ reasoning_effort: "low" }, "low", "low"],
  [{ reasoning_effort: "medium" }, "medium", "medium"],
  [{ reasoning: { effort: "high" } }, "high", "high"],
  [{ reasoning: { effort: "xhigh" } }, "xhigh", "xhigh"],
  [{ reasoning: { effort: "low" }, reasoning_effort: "high" }, "low", "low"],
  [{ reasoning: { effort: "medium", exclude: true } }, "medium", "medium"],
  [{ reasoning_effort: "none" }, "none", "off"],
  [{ reasoning: { effort: "none" } }, "none", "off"],
  [{ reasoning: { enabled: false } }, "none", "off"],
  [{ reasoning: { enabled: false, effort: "high" }, reasoning_effort: "high" }, "none", "off"],
  [{ reasoning: { max_tokens: 2_000 } }, "minimal or low", "minimal or low"],
  [{ reasoning: {} }, undefined, undefined],
  [{ reasoning: { exclude: true } }, undefined, undefined]
]

/** The reasoning parameters of a request to a provider. */
const thinkingOf = (body: Json | undefined): unknown => {
  if (at(body, "thinking", "type") === "disabled") return "off"
  return at(body, "reasoning", "effort") ?? at(body, "output_config", "effort")
}

describeWithFakeProvider("Reasoning", (it) => {
  for (const [reasoning, openai, claude] of forwarded)
    it.effect(`${JSON.stringify(reasoning)} reaches the routed model as ${openai}`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        for (const [model, expected] of [
          ["gpt-5.2", openai],
          ["claude-opus-5", claude]
        ] as const) {
          provider.script()
          const tenant = yield* gateway.tenant("1", modelIds(model))
          const reply = yield* gateway.chat({ messages: easy, ...reasoning }, as(tenant))
          assert.strictEqual(reply.status, 200, reply.text)
          const [sent] = provider.received
          const level = thinkingOf(sent?.body)
          assert.strictEqual(level, expected === "minimal or low" ? "low" : expected, model)
        }
      })
    )

  it.effect("is left unset on a direct call that does not mention it", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      for (const model of ["gpt-5.2", "gpt-5-nano", "claude-opus-5"]) {
        provider.script()
        yield* gateway.chat({ model, messages: easy })
        const [sent] = provider.received
        assert.isUndefined(thinkingOf(sent?.body), model)
        assert.notProperty(sent?.body, "thinking")
      }
    })
  )

  it.effect("is forwarded on a direct call that has it", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script()
      yield* gateway.chat({ model: "gpt-5-nano", messages: easy, reasoning: { effort: "minimal" } })
      yield* gateway.chat({ model: "gpt-5.2", messages: easy, reasoning_effort: "none" })
      const sent = provider.received
      assert.deepStrictEqual(
        sent.map(({ body }) => thinkingOf(body)),
        ["minimal", "none"]
      )
    })
  )

  it.effect("excludes models that always reason from failover when it is switched off", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const reply = yield* gateway.chat({ messages: hard, reasoning_effort: "none" })
      const receipt = yield* receiptOf(reply.at("id"))
      const candidates = (receipt.at("routing.candidates") as ReadonlyArray<Json>).map(({ model }) => String(model))
      assert.isNotEmpty(candidates)
      for (const model of candidates) {
        const card = yield* gateway.request("GET", `/v1/models/${model}`)
        assert.notStrictEqual(card.at("svc.reasoning.support"), "always", model)
      }
    })
  )
})
