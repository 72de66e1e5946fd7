/**
 * Prompt caching: breakpoints reach the providers that accept them, prefixes stay the same to the byte, and cached
 * tokens are billed by the price list, including the tiers for large prompts.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { chatProtocolNames } from "../../src/catalog/Model.ts"
import { protocols } from "../../src/providers/protocols/Protocols.ts"
import { as, at, chunksOf, costOf, type Json, priced, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { modelsOf, protocolModels } from "../support/ProtocolModels.ts"
import { describeGateway, describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"

/**
 * Models that the shipped catalog does not have, one for each vendor with its own way to keep a session on one cache.
 */
const overlay = (): string => {
  const file = join(inject("scratch"), `caching-${process.pid}.json`)
  const models = ["openrouter", "fireworks", "mistral", "groq"].map((provider) => ({
    id: `of-${provider}`,
    context_window: 100_000,
    max_output: 1_000,
    endpoints: [{ provider, price_usd_per_mtok: { input: 1, output: 2, cache_read: 0.1, cache_write: 1.25 } }]
  }))
  writeFileSync(file, JSON.stringify({ models }))
  return file
}

const vendors = {
  DEEPSEEK: "",
  FIREWORKS: "/v1",
  GEMINI: "/v1beta",
  GROQ: "/v1",
  MISTRAL: "/v1",
  OPENROUTER: "/v1",
  XAI: "/v1"
}

const environment = ({ url }: FakeProvider["Service"]) => ({
  CATALOG_FILE: overlay(),
  ...Object.fromEntries(
    Object.entries(vendors).flatMap(([name, path]) => [
      [`${name}_API_KEY`, "sk-of-the-operator"],
      [`${name}_BASE_URL`, `${url}${path}`]
    ])
  )
})

interface Buckets {
  readonly input: number
  readonly cache_read?: number
  readonly cache_write?: number
  readonly cache_write_1h?: number
  readonly output: number
}

/** The usage for a prompt of this many tokens, most of them cached, in each provider's own fields. */
const reports: ReadonlyArray<{
  readonly model: string
  readonly proves: string
  /** The largest prompt at the base price. */
  readonly threshold?: number
  readonly report: (prompt: number) => { readonly usage: Json; readonly buckets: Buckets }
}> = [
  {
    model: "gpt-4.1",
    proves: "openai-chat",
    report: (prompt) => ({
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 7,
        total_tokens: prompt + 7,
        prompt_tokens_details: { cached_tokens: prompt - 300 }
      },
      buckets: { input: 300, cache_read: prompt - 300, output: 7 }
    })
  },
  {
    model: "deepseek-v4-pro",
    proves: "openai-chat",
    report: (prompt) => ({
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 7,
        total_tokens: prompt + 7,
        prompt_cache_hit_tokens: prompt - 64,
        prompt_cache_miss_tokens: 64
      },
      buckets: { input: 64, cache_read: prompt - 64, output: 7 }
    })
  },
  {
    model: "of-openrouter",
    proves: "openai-chat",
    report: (prompt) => ({
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 7,
        total_tokens: prompt + 7,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: prompt - 300 }
      },
      buckets: { input: 200, cache_read: 100, cache_write: prompt - 300, output: 7 }
    })
  },
  {
    model: "gpt-6-luna",
    proves: "openai-responses",
    threshold: 272_000,
    report: (prompt) => ({
      usage: {
        prompt_tokens: prompt,
        completion_tokens: 90,
        total_tokens: prompt + 90,
        prompt_tokens_details: { cached_tokens: prompt - 1_000, cache_write_tokens: 900 },
        completion_tokens_details: { reasoning_tokens: 80 }
      },
      buckets: { input: 100, cache_read: prompt - 1_000, cache_write: 900, output: 90 }
    })
  },
  {
    model: "claude-haiku-5-5",
    proves: "anthropic-messages",
    threshold: 100_000,
    report: (prompt) => ({
      usage: {
        input_tokens: 11,
        cache_read_input_tokens: prompt - 711,
        cache_creation_input_tokens: 700,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 500 },
        output_tokens: 9
      },
      buckets: { input: 11, cache_read: prompt - 711, cache_write: 200, cache_write_1h: 500, output: 9 }
    })
  },
  {
    model: "gemini-2.5-pro",
    proves: "gemini",
    threshold: 200_000,
    report: (prompt) => ({
      usage: {
        promptTokenCount: prompt,
        cachedContentTokenCount: prompt - 50,
        candidatesTokenCount: 5,
        thoughtsTokenCount: 40,
        totalTokenCount: prompt + 45
      },
      buckets: { input: 50, cache_read: prompt - 50, output: 45 }
    })
  }
]

const system = "You are the librarian. ".repeat(40)
const part = (text: string, ttl?: string) => ({
  type: "text",
  text,
  ...(ttl !== undefined && { cache_control: { type: "ephemeral", ttl } })
})
const marked = [
  { role: "system", content: [part(system, "1h")] },
  { role: "user", content: [part("A long document.", "5m"), part("What does it say?")] }
]

/** The request that reached the provider. */
const sentFor = Effect.fnUntraced(function* (body: Json, headers?: Record<string, string>) {
  const provider = yield* FakeProvider
  const gateway = yield* TestGateway
  provider.script(Fake.answers("ok", { usage: {} }))
  const reply = yield* gateway.chat(body, headers)
  assert.strictEqual(reply.status, 200, reply.text)
  const [sent] = provider.received
  return sent ?? assert.fail("nothing was sent")
})

/** One model for each protocol of the providers that are switched on here. */
const oneEach = { "openai-chat": "gpt-4.1", "openai-responses": "gpt-5.2", "anthropic-messages": "claude-sonnet-5" }
const everyone = { ...oneEach, gemini: "gemini-2.5-flash", deepseek: "deepseek-v4-pro", openrouter: "of-openrouter" }

describeWithFakeProvider(
  "Prompt caching",
  (it) => {
    for (const { model, proves, report, threshold } of reports)
      for (const [prompt, tier] of [
        [threshold ?? 5_000, undefined],
        ...(threshold === undefined ? [] : ([[threshold + 1, 0]] as const))
      ] as const)
        it.effect(`of ${model} is counted and priced, at ${prompt} tokens [${proves}: cache]`, () =>
          Effect.gen(function* () {
            const provider = yield* FakeProvider
            const gateway = yield* TestGateway
            const { buckets, usage } = report(prompt)
            const cost = yield* priced(model, { ...buckets }, tier)
            assert.isTrue(cost > 0n)
            for (const stream of [false, true]) {
              const tenant = yield* gateway.tenant("5")
              provider.script(Fake.answers("ok", { usage }))
              const reply = yield* gateway.chat({ model, messages: [user("Hello")], stream }, as(tenant))
              const answer: Json | undefined = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
              assert.strictEqual(at(answer, "usage", "prompt_tokens"), prompt)
              assert.strictEqual(at(answer, "usage", "completion_tokens"), buckets.output)
              assert.deepInclude(at(answer, "usage", "prompt_tokens_details"), {
                cached_tokens: buckets.cache_read ?? 0,
                cache_write_tokens: (buckets.cache_write ?? 0) + (buckets.cache_write_1h ?? 0)
              })
              assert.strictEqual(costOf(answer), cost)
              assert.strictEqual(usd("5") - (yield* settledBalance(tenant.organization)), cost)
              const receipt = yield* receiptOf(answer?.["id"], tenant)
              assert.deepInclude(receipt.at("tokens"), {
                input: buckets.input,
                cache_read: buckets.cache_read ?? 0,
                cache_write_5m: buckets.cache_write ?? 0,
                cache_write_1h: buckets.cache_write_1h ?? 0
              })
            }
          })
        )

    it.effect(
      "is requested for blocks and for the whole prompt where breakpoints are accepted [anthropic-messages: cache]",
      () =>
        Effect.gen(function* () {
          const sent = yield* sentFor({
            model: "claude-sonnet-5",
            messages: marked,
            cache_control: { type: "ephemeral" }
          })
          assert.deepStrictEqual(at(sent.body, "system", 0, "cache_control"), { type: "ephemeral", ttl: "1h" })
          assert.deepStrictEqual(at(sent.body, "messages", 0, "content", 0, "cache_control"), { type: "ephemeral" })
          assert.notProperty(at(sent.body, "messages", 0, "content", 1), "cache_control")
          assert.deepStrictEqual(sent.body["cache_control"], { type: "ephemeral" })
          const hour = { type: "ephemeral", ttl: "1h" }
          const long = yield* sentFor({ model: "claude-sonnet-5", messages: [user("Hi")], cache_control: hour })
          assert.deepStrictEqual(long.body["cache_control"], hour)
        })
    )

    it.effect("is requested with the fields of newer models [openai-responses: cache]", () =>
      Effect.gen(function* () {
        const { body } = yield* sentFor({ model: "gpt-6-luna", messages: marked, cache_control: { type: "ephemeral" } })
        const breakpoints = [
          at(body, "input", 0, "content", 0, "prompt_cache_breakpoint"),
          at(body, "input", 1, "content", 0, "prompt_cache_breakpoint"),
          at(body, "input", 1, "content", 1, "prompt_cache_breakpoint")
        ]
        assert.deepStrictEqual(breakpoints, [{ mode: "explicit", ttl: "12h" }, { mode: "explicit" }, undefined])
      })
    )

    it.effect("is requested through OpenRouter in the format of its providers [openai-chat: cache]", () =>
      Effect.gen(function* () {
        const sent = yield* sentFor({ model: "of-openrouter", messages: marked, cache_control: { type: "ephemeral" } })
        assert.deepStrictEqual(at(sent.body, "messages", 0, "content", 0, "cache_control"), {
          type: "ephemeral",
          ttl: "1h"
        })
        assert.deepStrictEqual(sent.body["cache_control"], { type: "ephemeral" })
      })
    )

    for (const model of ["gpt-4.1", "gpt-5.2", "gemini-2.5-flash", "deepseek-v4-pro"])
      it.effect(`is not requested of ${model}, which would refuse breakpoints`, () =>
        Effect.gen(function* () {
          const { text } = yield* sentFor({ model, messages: marked, cache_control: { type: "ephemeral", ttl: "1h" } })
          assert.notMatch(text, /cache_control|breakpoint|ephemeral/)
        })
      )

    const key = "tenant-7:manual"
    for (const [name, model] of Object.entries(everyone))
      it.effect(`keeps the client's key and retention for ${name} if it knows them`, () =>
        Effect.gen(function* () {
          const body = { model, messages: [user("Hi")], prompt_cache_key: key, prompt_cache_retention: "24h" }
          const sent = yield* sentFor(body)
          const knows = ["gpt-4.1", "gpt-5.2", "of-openrouter"].includes(model)
          assert.strictEqual(sent.body["prompt_cache_key"], knows ? key : undefined)
          assert.strictEqual(sent.body["prompt_cache_retention"], model.startsWith("gpt") ? "24h" : undefined)
          if (!knows) assert.notInclude(sent.text, key)
        })
      )

    it.effect("has no retention from the client where models decide on it [openai-responses: cache]", () =>
      Effect.gen(function* () {
        const body = { messages: [user("Hi")], prompt_cache_retention: "24h" }
        assert.notProperty((yield* sentFor({ ...body, model: "gpt-6-luna" })).body, "prompt_cache_retention")
      })
    )

    /** The field or header of a session's key; the other models have none. */
    const places: { readonly [model: string]: (sent: Fake.Received) => unknown } = {
      "gpt-4.1": ({ body }) => body["prompt_cache_key"],
      "gpt-5.2": ({ body }) => body["prompt_cache_key"],
      "grok-4.3": ({ headers }) => headers["x-grok-conv-id"],
      "of-mistral": ({ headers }) => headers["x-affinity"],
      "of-fireworks": ({ headers }) => headers["x-session-affinity"],
      "of-openrouter": ({ body }) => body["session_id"]
    }
    for (const model of [...Object.keys(places), "of-groq", "claude-sonnet-5", "gemini-2.5-flash", "deepseek-v4-pro"])
      it.effect(
        `keeps a session of ${model} on one cache${model in places ? "" : " without a key for the provider"}`,
        () =>
          Effect.gen(function* () {
            const gateway = yield* TestGateway
            const [mine, theirs] = [as(yield* gateway.tenant("1")), as(yield* gateway.tenant("1"))]
            const body = { model, messages: [user("Hi")], session_id: "alice@example.org" }
            const first = yield* sentFor(body, mine)
            const again = yield* sentFor({ ...body, messages: [user("Hi again")] }, mine)
            const other = yield* sentFor(body, theirs)
            const none = yield* sentFor({ ...body, session_id: undefined }, mine)
            for (const sent of [first, again, other])
              assert.notInclude(JSON.stringify([sent.headers, sent.text]), "alice@example.org")
            const place = places[model]
            if (place === undefined) return assert.strictEqual(first.text, none.text)
            assert.match(String(place(first)), /^[0-9a-f]{40}$/)
            assert.strictEqual(place(again), place(first))
            assert.notStrictEqual(place(other), place(first))
            assert.isUndefined(place(none))
          })
      )

    for (const [name, model] of Object.entries(everyone))
      it.effect(`gets the same bytes before new messages, with ${name}`, () =>
        Effect.gen(function* () {
          const tools = ["b", "a"].map((tool) => ({
            type: "function",
            function: { name: tool, parameters: { type: "object", properties: { z: {}, y: { type: "string" } } } }
          }))
          const called = { id: "call_1", type: "function", function: { name: "a", arguments: '{"y": "1"}' } }
          const prefix = [
            ...marked,
            { role: "assistant", content: null, tool_calls: [called] },
            { role: "tool", tool_call_id: "call_1", content: [part("The result. END OF PREFIX", "5m")] }
          ]
          const sentWith = (question: string, more: Json = {}) =>
            sentFor({ model, tools, messages: [...prefix, user(question)], session_id: "s", ...more })
          const one = yield* sentWith("One?")
          const end = one.text.indexOf("END OF PREFIX") + "END OF PREFIX".length
          assert.isAbove(end, system.length)
          for (const other of [yield* sentWith("Another, longer question?"), yield* sentWith("One?")])
            assert.strictEqual(other.text.slice(0, end), one.text.slice(0, end))
          // Tools and system prompt precede the conversation in every provider's cache, wherever they are in the body.
          const streamed = yield* sentWith("And streamed?", { stream: true })
          for (const part of ["tools", "system", "systemInstruction"])
            assert.deepStrictEqual(JSON.stringify(streamed.body[part]), JSON.stringify(one.body[part]))
          assert.strictEqual(streamed.text.slice(0, end), one.text.slice(0, end))
        })
      )
  },
  environment
)

/** Protocols whose simulated provider caches marked prefixes. */
const marking = chatProtocolNames.filter(
  (protocol) => !protocol.startsWith("openai") && protocols[protocol].fields.cacheControl === "translated"
)

describeGateway(
  "A cached prefix",
  (it) => {
    for (const protocol of marking)
      it.effect(`is written once, and read afterwards [${protocol}: cache]`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const model = modelsOf(protocol)[0]?.id
          const prefix = [{ role: "system", content: [part(`${system} For ${protocol}.`, "5m")] }]
          const details = yield* Effect.forEach(["One?", "Two?"], (question) =>
            Effect.map(gateway.chat({ model, messages: [...prefix, user(question)] }), (reply) => {
              assert.strictEqual(reply.status, 200, reply.text)
              return reply.at("usage.prompt_tokens_details") as Json
            })
          )
          const written = Number(details[0]?.["cache_write_tokens"])
          assert.isAbove(written, 100)
          assert.strictEqual(details[0]?.["cached_tokens"], 0)
          assert.deepInclude(details[1], { cached_tokens: written, cache_write_tokens: 0 })
        })
      )
  },
  protocolModels()
)
