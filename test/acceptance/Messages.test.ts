/** Anthropic's Messages API: what its clients send, what they get, and that it is the same use case as a chat. */
import Anthropic from "@anthropic-ai/sdk"
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { errorTable } from "../../src/api/ErrorTable.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { messageErrorType } from "../../src/http/messages/MessageErrors.ts"
import { as, at, costOf, type Json, receiptOf, user } from "../support/Chat.ts"
import { stalledRequest } from "../support/SlowClients.ts"
import { tenantOnSpentBudget } from "../support/SpentBudget.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"

const path = "/v1/messages"
const hello = { model: "claude-haiku-4-5", max_tokens: 500, messages: [user("Hello")] }

const send = (body: unknown, headers: Record<string, string> = {}) =>
  Effect.flatMap(TestGateway, ({ request }) => request("POST", path, body, headers))

/** The events of a stream, each with its name. */
const eventsOf = (text: string): ReadonlyArray<Json> =>
  text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(frame) ?? []
      const event: Json = JSON.parse(data ?? "null")
      assert.strictEqual(event["type"], name)
      return event
    })

const assertMessageError = (reply: Reply, status: number, code: string) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  const id = reply.headers.get("x-request-id")
  assert.deepStrictEqual(JSON.parse(reply.text), {
    type: "error",
    error: { type: messageErrorType(status), message: reply.at("error.message"), code },
    request_id: id
  })
  assert.strictEqual(reply.headers.get("request-id"), id)
  assert.match(String(reply.headers.get("content-type")), /^application\/json/)
}

const weather = { name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }

describeGateway("Anthropic's Messages", (it) => {
  it.effect("have errors of Anthropic's shape and types, whatever refuses them", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const slow = as(yield* gateway.tenant("1", { requestsPerMinute: 1 }))
      yield* send(hello, slow)
      const keyed = { "idempotency-key": "one-key-two-bodies" }
      yield* send(hello, keyed)
      const cases: ReadonlyArray<
        readonly [code: keyof typeof errorTable, reply: Effect.Effect<Reply, never, TestGateway>]
      > = [
        ["invalid_request", send({ ...hello, temperature: 3 })],
        ["invalid_request", send("{")],
        ["invalid_request", send({ ...hello, max_tokens: undefined })],
        ["invalid_model", send({ ...hello, model: "nope" })],
        ["invalid_call_name", send({ ...hello, metadata: { call_name: " " } })],
        ["invalid_end_user_id", send(hello, { "x-end-user-id": " " })],
        ["unsupported_parameter", send({ ...hello, tools: [{ type: "web_search_20250305", name: "web_search" }] })],
        ["unauthorized", send(hello, { authorization: "Bearer tg-nobody" })],
        ["insufficient_credits", send(hello, as(yield* gateway.tenant("0")))],
        ["endpoint_not_allowed", send(hello, as(yield* gateway.tenant("1", { endpoints: ["chat.completions"] })))],
        ["model_not_allowed", send(hello, as(yield* gateway.tenant("1", { models: [modelId("gpt-4o")] })))],
        ["not_found", gateway.request("POST", `${path}/nothing`)],
        ["method_not_allowed", gateway.request("GET", path)],
        ["request_timeout", stalledRequest(path)],
        ["idempotency_conflict", send({ ...hello, max_tokens: 7 }, keyed)],
        ["request_too_large", send(JSON.stringify({ ...hello, pad: "x".repeat(33 * 1024 * 1024) }))],
        ["rate_limit_exceeded", send(hello, slow)],
        ["budget_exceeded", send(hello, as(yield* tenantOnSpentBudget))],
        ["internal_error", send({ ...hello, messages: [user("[fault:500] Hi")] })],
        ["not_found", gateway.request("GET", "/v1/models/nope", undefined, { "anthropic-version": "2023-06-01" })]
      ]
      for (const [code, ask] of cases) assertMessageError(yield* ask, errorTable[code], code)
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
    })
  )

  it.effect("take a key as x-api-key, also beside a token of another service", () =>
    Effect.gen(function* () {
      const { key, request } = yield* TestGateway
      const own = { "x-api-key": key, authorization: "" }
      for (const headers of [own, { ...own, authorization: "Bearer sk-ant-somebody" }]) {
        assert.strictEqual((yield* send(hello, headers)).status, 200)
        assert.strictEqual((yield* request("GET", "/v1/models", undefined, headers)).status, 200)
        assert.strictEqual((yield* request("POST", "/v1/chat/completions", {}, headers)).status, 401)
      }
    })
  )

  it.effect("cost what the same chat costs, have its receipt, and add up to their stream", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const model of ["claude-haiku-4-5", "gpt-4o-mini", "gemini-2.5-flash"]) {
        const chat = yield* gateway.chat({ model, messages: [user("Hello")], max_completion_tokens: 500 })
        const plain = yield* send({ ...hello, model })
        assert.strictEqual(costOf(JSON.parse(plain.text)), costOf(JSON.parse(chat.text)), model)
        assert.strictEqual(
          (yield* receiptOf(plain.at("id"))).at("cost_usd"),
          (yield* receiptOf(chat.at("id"))).at("cost_usd")
        )
        const events = eventsOf((yield* send({ ...hello, model, stream: true })).text)
        const text = events.map((event) => at(event, "delta", "text") ?? "").join("")
        assert.strictEqual(text, at(plain.at("content"), 0, "text"))
        const end = events.at(-2)
        assert.deepStrictEqual(end?.["usage"], plain.at("usage"))
        assert.isAbove(Number(at(events[0], "message", "usage", "input_tokens")), 0)
      }
    })
  )

  it.effect("name the model that stands for a retired one, and what goes to no model", () =>
    Effect.gen(function* () {
      const names = {
        "claude-3-5-haiku-20241022": "claude-haiku-4-5",
        "claude-opus-4-5-20251101[1m]": "claude-opus-4-5"
      }
      for (const [name, model] of Object.entries(names))
        assert.strictEqual((yield* send({ ...hello, model: name })).at("model"), model)
      const reply = yield* send({
        ...hello,
        top_k: 5,
        context_management: { edits: [] },
        metadata: { user_id: "x".repeat(900) }
      })
      assert.strictEqual(reply.headers.get("x-svc-adjusted"), "top_k=omitted, context_management=omitted")
      const receipt = yield* receiptOf(reply.at("id"))
      assert.deepStrictEqual<unknown>(receipt.at("adjusted"), ["top_k=omitted", "context_management=omitted"])
      assert.isNull(receipt.at("end_user_id"))
    })
  )

  it.effect("end with the stop sequence, and are cut by max_tokens", () =>
    Effect.gen(function* () {
      const long = { ...hello, messages: [user("[fault:length 90] Go.")] }
      const stopped = yield* send({ ...long, stop_sequences: ["word3", "word9"] })
      assert.deepStrictEqual<unknown>(
        [stopped.at("stop_reason"), stopped.at("stop_sequence")],
        ["stop_sequence", "word3"]
      )
      const cut = yield* send({ ...long, max_tokens: 5 })
      assert.deepStrictEqual<unknown>([cut.at("stop_reason"), cut.at("stop_sequence")], ["max_tokens", null])
    })
  )

  it.effect("count tokens without a provider or a charge", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const { max_tokens: _, ...prompt } = hello
      const count = (body: Json) => gateway.request("POST", `${path}/count_tokens`, body, as(tenant))
      const bare = yield* count(prompt)
      const tooled = yield* count({ ...prompt, system: "You speak of the weather.", tools: [weather] })
      assert.isAbove(Number(tooled.at("input_tokens")), Number(bare.at("input_tokens")))
      assertMessageError(yield* count({ ...prompt, model: "nope" }), 400, "invalid_model")
      assert.strictEqual((yield* gateway.balance(tenant.organization)).held, 0n)
    })
  )

  it.effect("list the models in pages of Anthropic's shape", () =>
    Effect.gen(function* () {
      const { key, url } = yield* TestGateway
      const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
      const ids = yield* Effect.promise(async () => {
        const found: Array<string> = []
        for await (const model of client.models.list({ limit: 7 })) found.push(model.id)
        return found
      })
      assert.strictEqual(ids[0], "svc-auto")
      assert.include(ids, "claude-haiku-4-5")
      assert.notInclude(ids, "whisper-1")
      assert.strictEqual(new Set(ids).size, ids.length)
      const one = yield* Effect.promise(() => client.models.retrieve("claude-haiku-4-5-20251001"))
      assert.strictEqual(one.id, "claude-haiku-4-5")
      const last = yield* Effect.promise(() => client.models.list({ limit: 2, before_id: ids[3] ?? "" }))
      assert.deepStrictEqual(
        last.data.map(({ id }) => id),
        ids.slice(1, 3)
      )
    })
  )

  it.effect("think when asked to, and hold no block of thinking otherwise", () =>
    Effect.gen(function* () {
      const asked = yield* send({ ...hello, max_tokens: 4_000, thinking: { type: "enabled", budget_tokens: 2_000 } })
      const types = (reply: Reply) => (reply.at("content") as ReadonlyArray<Json>).map(({ type }) => type)
      assert.deepStrictEqual(types(asked), ["thinking", "text"])
      const off = yield* send({ ...hello, model: "gpt-5-mini" })
      assert.deepStrictEqual(types(off), ["text"])
    })
  )
})
