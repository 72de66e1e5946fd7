/**
 * The whole gateway in front of a third-party simulator, `@copilotkit/aimock`, over every protocol. It is not a
 * reference (see the comments where it differs from the real providers), but it is independent of our own fake provider
 * and sandbox.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { LLMock } from "@copilotkit/aimock"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { inject } from "vitest"

import { type ChatProtocolName, chatProtocolNames } from "../../../src/catalog/Model.ts"
import { as, at, chunksOf, type Json, settledBalance, textIn, timeTool, user, weatherTool } from "../../support/Chat.ts"
import type { Environment } from "../../support/GatewayEnvironment.ts"
import { layerGateway, onEngines, type Services, TestGateway, usd } from "../../support/TestGateway.ts"

class Simulator extends Context.Service<Simulator, LLMock>()("test/Simulator") {}

/** Its option for usage has the fields of each protocol. */
const usage = {
  prompt_tokens: 11,
  completion_tokens: 4,
  input_tokens: 11,
  output_tokens: 4,
  promptTokenCount: 11,
  candidatesTokenCount: 4
}

const refusals = [
  { word: "slow-down", status: 429, retryAfter: 9, expected: [429, "rate_limit_exceeded"] },
  { word: "broken", status: 500, expected: [500, "internal_error"] },
  { word: "overloaded", status: 529, expected: [500, "internal_error"] },
  { word: "nonsense", status: 400, expected: [400, "invalid_request"] }
] as const

const chaos = {
  dropped: { dropRate: 1 },
  malformed: { malformedRate: 1 },
  disconnected: { disconnectRate: 1 },
  limited: { rateLimitRate: 1 }
} as const

const Fixtures = Layer.effect(
  Simulator,
  Effect.acquireRelease(
    Effect.promise(async () => {
      const mock = new LLMock({ port: 0, logLevel: "silent" })
      mock.on({ userMessage: "hello" }, { content: "Hi there", reasoning: "Thinking hard.", usage })
      const calls = [
        { name: "get_weather", arguments: '{"city":"Lima"}' },
        { name: "get_time", arguments: "{}" }
      ]
      const called = { userMessage: "weather", hasToolResult: false }
      // By default it ends calls of Gemini with FUNCTION_CALL; the real Gemini ends them with STOP.
      mock.on({ ...called, model: /^gemini/ }, { toolCalls: calls, usage, finishReason: "stop" })
      mock.on(called, { toolCalls: calls, usage })
      mock.on({ userMessage: "weather", hasToolResult: true }, { content: "Sunny at noon.", usage })
      for (const { word, status, ...rest } of refusals)
        mock.on({ userMessage: word }, { error: { message: `It is ${word}.`, type: `${word}_error` }, status, ...rest })
      for (const [word, rates] of Object.entries(chaos))
        mock.on({ userMessage: word }, { content: "Never message", usage }, { chaos: rates })
      mock.on({ userMessage: "late" }, { content: "Hi, late", usage }, { chaos: { latencyMs: 300 } })
      const long = { content: "word ".repeat(200), usage }
      mock.on({ userMessage: "cut-by-chunks" }, long, { chunkSize: 10, latency: 2, truncateAfterChunks: 20 })
      mock.on({ userMessage: "cut-by-time" }, long, { chunkSize: 10, latency: 5, disconnectAfterMs: 150 })
      await mock.start()
      return mock
    }),
    (mock) => Effect.promise(() => mock.stop())
  )
)

/** The base path of each protocol on the simulator. */
const bases: Record<ChatProtocolName, string> = {
  "openai-chat": "/v1",
  "openai-responses": "/v1",
  "anthropic-messages": "",
  gemini: "/v1beta",
  "bedrock-converse": ""
}

const paths: Record<ChatProtocolName, RegExp> = {
  "openai-chat": /^\/v1\/chat\/completions$/,
  "openai-responses": /^\/v1\/responses$/,
  "anthropic-messages": /^\/v1\/messages$/,
  gemini: /^\/v1beta\/models\/[^/]+:(generateContent|streamGenerateContent)/,
  "bedrock-converse": /^\/model\/[^/]+\/converse(-stream)?$/
}

const words = ["hello", "weather", "late", "cut-by-chunks", "cut-by-time"]
const everything = [...words, ...refusals.map(({ word }) => word), ...Object.keys(chaos)]

/** A model for each word, because the circuit breaker of an endpoint that failed may be open. */
const modelFor = (protocol: ChatProtocolName, word: string): string => `${protocol}-${word}`

const environmentOf = (mock: LLMock): Environment => {
  const file = join(inject("scratch"), `aimock-${process.pid}.json`)
  const providers = chatProtocolNames.map((protocol) => ({
    id: `aimock-${protocol}`,
    protocol,
    base_url: `${mock.url}${bases[protocol]}`,
    api_key_env: "AIMOCK_API_KEY",
    auth: "bearer"
  }))
  const models = chatProtocolNames.flatMap((protocol) =>
    everything.map((word) => ({
      id: modelFor(protocol, word),
      context_window: 100_000,
      max_output: 10_000,
      reasoning: { support: "optional", efforts: ["low", "high"], budget_tokens: { min: 1_024, max: 8_000 } },
      endpoints: [{ provider: `aimock-${protocol}`, price_usd_per_mtok: { input: 1, output: 2 } }]
    }))
  )
  writeFileSync(file, JSON.stringify({ providers, models }))
  return { CATALOG_FILE: file, AIMOCK_API_KEY: "sk-of-the-operator" }
}

const gatewayOn = (database: Environment): Layer.Layer<Services | Simulator> =>
  Layer.unwrap(Effect.map(Simulator, (mock) => layerGateway({ ...database, ...environmentOf(mock) }))).pipe(
    Layer.provideMerge(Fixtures)
  )

const bodyFor = (protocol: ChatProtocolName, word: string, more: Json = {}) => ({
  model: modelFor(protocol, word),
  messages: [{ role: "system", content: "Be brief." }, user(`Say ${word}, please.`)],
  ...more
})

/** The message of a stream: its content, reasoning, tool calls and finish reason. */
const messageIn = (chunks: ReadonlyArray<Json>) => {
  const deltas = chunks.map((chunk) => (at(chunk, "choices", 0, "delta") ?? {}) as Json)
  const calls = new Map<unknown, { name: unknown; written: string }>()
  for (const call of deltas.flatMap(({ tool_calls: calls }) => (calls ?? []) as ReadonlyArray<Json>)) {
    const known = calls.get(call["index"]) ?? { name: at(call, "function", "name"), written: "" }
    known.written += String(at(call, "function", "arguments") ?? "")
    calls.set(call["index"], known)
  }
  return {
    content: textIn(chunks),
    reasoning: deltas.map(({ reasoning }) => reasoning ?? "").join(""),
    calls: [...calls.values()].map(({ name, written }) => [name, JSON.parse(written)]),
    finish: chunks.map((chunk) => at(chunk, "choices", 0, "finish_reason")).findLast(Boolean)
  }
}

/** The same of a choice of a plain answer. */
const messageOf = (choice: unknown) => ({
  content: at(choice, "message", "content") ?? "",
  reasoning: at(choice, "message", "reasoning") ?? "",
  calls: ((at(choice, "message", "tool_calls") ?? []) as ReadonlyArray<Json>).map((call) => [
    at(call, "function", "name"),
    JSON.parse(String(at(call, "function", "arguments")))
  ]),
  finish: at(choice, "finish_reason")
})

onEngines("A third-party simulator", gatewayOn, (it) => {
  for (const protocol of chatProtocolNames) {
    it.effect(`gives the same answer plain and streamed [${protocol}: text, stream]`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const mock = yield* Simulator
        mock.clearRequests()
        const body = bodyFor(protocol, "hello", { reasoning_effort: "high" })
        const plain = yield* gateway.chat(body)
        assert.strictEqual(plain.status, 200, plain.text)
        const chunks = chunksOf((yield* gateway.chat({ ...body, stream: true })).text)
        const message = { content: "Hi there", reasoning: "Thinking hard.", calls: [], finish: "stop" }
        assert.deepStrictEqual(messageOf(plain.at("choices.0")), message)
        assert.deepStrictEqual(messageIn(chunks), message)
        for (const reported of [plain.at("usage"), chunks.at(-1)?.["usage"]])
          assert.deepInclude(reported, { prompt_tokens: 11, completion_tokens: 4 })
        // The requests as the simulator parsed them.
        const requests = mock.getRequests()
        assert.lengthOf(requests, 2)
        for (const { body: parsed, headers, path } of requests) {
          assert.match(path, paths[protocol])
          assert.isDefined(headers["authorization"])
          const messages = at(parsed, "messages") as ReadonlyArray<Json>
          assert.deepStrictEqual(
            messages.map(({ role }) => (role === "developer" ? "system" : role)),
            ["system", "user"]
          )
          assert.include(JSON.stringify(messages), "Say hello, please.")
        }
      })
    )

    for (const stream of [false, true])
      it.effect(
        `calls two tools in parallel and answers with their results, ${stream ? "streamed" : "plain"} ` +
          `[${protocol}: tools, parallel tools]`,
        () =>
          Effect.gen(function* () {
            const gateway = yield* TestGateway
            const mock = yield* Simulator
            const body = bodyFor(protocol, "weather", { tools: [weatherTool, timeTool], stream })
            const first = yield* gateway.chat(body)
            assert.strictEqual(first.status, 200, first.text)
            const message = stream ? messageIn(chunksOf(first.text)) : messageOf(first.at("choices.0"))
            assert.strictEqual(message.finish, "tool_calls")
            assert.deepStrictEqual(message.calls, [
              ["get_weather", { city: "Lima" }],
              ["get_time", {}]
            ])
            const calls = ["call_1", "call_2"].map((id, index) => ({
              id,
              type: "function",
              function: { name: message.calls[index]?.[0], arguments: JSON.stringify(message.calls[index]?.[1]) }
            }))
            const messages = [
              ...body.messages,
              { role: "assistant", content: null, tool_calls: calls },
              { role: "tool", tool_call_id: "call_1", content: "Sunny" },
              { role: "tool", tool_call_id: "call_2", content: "Noon" }
            ]
            mock.clearRequests()
            const second = yield* gateway.chat({ ...body, messages })
            assert.include(second.text, "Sunny", second.text)
            const answer = stream ? messageIn(chunksOf(second.text)) : messageOf(second.at("choices.0"))
            assert.deepStrictEqual([answer.content, answer.finish], ["Sunny at noon.", "stop"])
            const parsed = at(mock.getLastRequest()?.body, "messages") as ReadonlyArray<Json>
            const results = parsed.filter(({ role }) => role === "tool").map(({ content }) => String(content))
            // In Gemini's protocol a result is an object, and the simulator reports it as one.
            assert.deepStrictEqual(
              results.map((result) => /Sunny|Noon/.exec(result)?.[0]),
              ["Sunny", "Noon"]
            )
          })
      )

    it.effect(`refuses requests in its provider's format, at no cost [${protocol}: errors]`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        for (const { expected, word } of refusals)
          for (const stream of [false, true]) {
            const reply = yield* gateway.chat(bodyFor(protocol, word, { stream }), as(tenant))
            assert.deepStrictEqual([word, reply.status, reply.at("error.code")], [word, ...expected], reply.text)
            if (word === "slow-down") assert.isAbove(Number(reply.headers.get("retry-after")), 6)
          }
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      })
    )

    it.effect(`with injected faults gives an error, never a hang or a charge [${protocol}: errors]`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const asks = Object.keys(chaos).flatMap((word) =>
          [false, true].map((stream) => bodyFor(protocol, word, { stream }))
        )
        const ask = Effect.fnUntraced(function* (body: Json) {
          const reply = yield* gateway.chat(body, as(tenant))
          const limited = String(body["model"]).endsWith("limited")
          assert.deepStrictEqual(
            [reply.status, reply.at("error.code")],
            limited ? [429, "rate_limit_exceeded"] : [500, "internal_error"],
            `${String(body["model"])}: ${reply.text}`
          )
        })
        yield* Effect.forEach(asks, ask, { concurrency: "unbounded" })
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      })
    )

    it.effect(`that cuts off a stream gives an error chunk, and costs nothing [${protocol}: errors]`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        for (const word of ["cut-by-chunks", "cut-by-time"]) {
          const reply = yield* gateway.chat(bodyFor(protocol, word, { stream: true }), as(tenant))
          assert.strictEqual(reply.status, 200, reply.text)
          const chunks = chunksOf(reply.text)
          assert.match(textIn(chunks), /^word /)
          assert.strictEqual(at(chunks.at(-1), "choices", 0, "finish_reason"), "error", word)
          assert.strictEqual(at(chunks.at(-1), "error", "code"), "internal_error")
        }
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      })
    )

    it.effect(`that answers slowly is waited for [${protocol}: text, stream]`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        for (const stream of [false, true]) {
          const reply = yield* gateway.chat(bodyFor(protocol, "late", { stream }))
          const content = stream ? textIn(chunksOf(reply.text)) : reply.at("choices.0.message.content")
          assert.strictEqual(content, "Hi, late")
        }
      })
    )
  }
})
