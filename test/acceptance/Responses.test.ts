/** `POST /v1/responses` over a socket: the use case behind it is that of chat, so money and limits must be the same. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { chatProtocolNames } from "../../src/catalog/Model.ts"
import { as, at, costOf, type Json, receiptOf, settledBalance, timeTool, user, weatherTool } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { modelsOf, protocolModels } from "../support/ProtocolModels.ts"
import { foldedResponse, responseEventsIn } from "../support/ResponseEvents.ts"
import { describeGateway, describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"

const path = "/v1/responses"

const post = Effect.fnUntraced(function* (body: Json, tenant?: Tenant, headers: Record<string, string> = {}) {
  const gateway = yield* TestGateway
  return yield* gateway.request("POST", path, body, { ...(tenant && as(tenant)), ...headers })
})

const hello = { model: "gpt-4o-mini", input: "Hello" }

/** The tools of a chat, as this API has them. */
const tools = [weatherTool, timeTool].map(({ function: tool }) => ({ type: "function", ...tool }))

const outputOf = (response: Json) => response["output"] as ReadonlyArray<Json>

/** Without what differs between two answers to the same request: ids, the time, and what the router took. */
const comparable = (response: Json): Json =>
  JSON.parse(
    JSON.stringify(response)
      .replaceAll(/(resp|msg|rs|fc|ctc)_[0-9a-f-]{36}/g, "$1")
      .replaceAll(/"(created_at|routing_latency_ms)":[\d.]+/g, '"$1":0')
  )

const suiteOfProtocols: Parameters<typeof describeGateway>[1] = (it) => {
  it.effect("is the same whole and streamed, in every protocol of providers", () =>
    Effect.gen(function* () {
      for (const protocol of chatProtocolNames) {
        const model = modelsOf(protocol)[0]?.id
        const body = { model, input: "[call:get_weather,get_time] Hello", tools, reasoning: { effort: "high" } }
        for (const more of [{}, { input: "Hello" }, { input: "[fault:length 5] Hello", max_output_tokens: 4_000 }]) {
          const asked = { ...body, ...more }
          const plain = yield* post(asked)
          const stream = yield* post({ ...asked, stream: true })
          assert.deepStrictEqual([plain.status, stream.status], [200, 200], `${protocol}: ${plain.text}`)
          assert.match(stream.headers.get("content-type") ?? "", /^text\/event-stream/)
          const folded = foldedResponse(responseEventsIn(stream.text))
          assert.deepStrictEqual(comparable(folded), comparable(JSON.parse(plain.text)), protocol)
        }
      }
    })
  )
}

describeGateway("A response", suiteOfProtocols, protocolModels())

describeGateway("A request for a response", (it) => {
  it.effect("costs what a chat with the same prompt costs", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const model of ["gpt-4o-mini", "gpt-5.2", "claude-sonnet-5", "gemini-2.5-flash", "svc-auto"]) {
        const payer = yield* gateway.tenant("5")
        const chat = yield* gateway.chat({ model, messages: [user("Hello")] }, as(payer))
        const afterChat = yield* settledBalance(payer.organization)
        const plain: Json = JSON.parse((yield* post({ model, input: "Hello" }, payer)).text)
        const afterPlain = yield* settledBalance(payer.organization)
        const stream = yield* post({ model, input: "Hello", stream: true }, payer)
        const streamed = foldedResponse(responseEventsIn(stream.text))
        const afterStream = yield* settledBalance(payer.organization)
        const cost = usd("5") - afterChat
        assert.isAbove(Number(cost), 0)
        assert.deepStrictEqual([afterChat - afterPlain, afterPlain - afterStream], [cost, cost], model)
        const reported = [JSON.parse(chat.text), plain, streamed].map(costOf)
        assert.deepStrictEqual(reported, [cost, cost, cost])
        assert.strictEqual(at(plain, "usage", "input_tokens"), chat.at("usage.prompt_tokens"))
        assert.strictEqual(at(plain, "usage", "output_tokens"), chat.at("usage.completion_tokens"))
      }
    })
  )

  it.effect("has a receipt by its id, with the labels and what was left out", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const reply = yield* post(
        {
          ...hello,
          tools: [...tools, { type: "web_search" }],
          text: { verbosity: "low" },
          metadata: { call_name: "agent", end_user_id: "u-1", other: "x" }
        },
        undefined,
        { "x-session-id": "s" }
      )
      const response: Json = JSON.parse(reply.text)
      assert.match(String(response["id"]), /^resp_[0-9a-f-]{36}$/)
      const adjusted = ["tools.web_search=omitted", "text.verbosity=omitted"]
      assert.strictEqual(reply.headers.get("x-svc-adjusted"), adjusted.join(", "))
      assert.deepStrictEqual(at(response, "svc", "adjusted"), adjusted)
      assert.deepStrictEqual(response["metadata"], { call_name: "agent", end_user_id: "u-1", other: "x" })
      const receipt = yield* receiptOf(response["id"])
      assert.strictEqual(receipt.at("call_name"), "agent")
      assert.strictEqual(receipt.at("end_user_id"), "u-1")
      assert.deepStrictEqual(receipt.at("adjusted"), adjusted)
      assert.strictEqual(receipt.at("cost_usd"), at(response, "usage", "cost")?.toString())
      const searched = yield* gateway.admin("GET", `/admin/v1/requests/${String(response["id"])}`)
      assert.strictEqual(searched.status, 200, searched.text)
    })
  )

  it.effect("has strict tools where the provider enforces them, and names them elsewhere", () =>
    Effect.gen(function* () {
      const strict = tools.map((tool) => ({ ...tool, strict: true }))
      const openai = yield* post({ model: "gpt-5.2", input: "Hello", tools: strict })
      assert.isNull(openai.headers.get("x-svc-adjusted"))
      assert.deepStrictEqual(openai.at("tools"), strict)
      const anthropic = yield* post({ model: "claude-sonnet-5", input: "Hello", tools: strict })
      assert.strictEqual(anthropic.headers.get("x-svc-adjusted"), "tools.strict=omitted")
    })
  )

  it.effect("is routed where no model is named", () =>
    Effect.gen(function* () {
      for (const model of ["svc-auto", null, undefined]) {
        const response: Json = JSON.parse((yield* post({ model, input: "Hello" })).text)
        assert.strictEqual(at(response, "svc", "routed"), true)
        assert.strictEqual(at(response, "svc", "routed_model"), response["model"])
      }
    })
  )

  it.effect("is made once for one Idempotency-Key, whole and streamed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const payer = yield* gateway.tenant("5")
      for (const body of [hello, { ...hello, stream: true }]) {
        const key = { "idempotency-key": `key-${String("stream" in body)}` }
        const first = yield* post(body, payer, key)
        const balance = yield* settledBalance(payer.organization)
        const again = yield* post(body, payer, key)
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
        assert.strictEqual(yield* settledBalance(payer.organization), balance)
        const other = yield* post({ ...body, input: "Other" }, payer, key)
        assert.deepStrictEqual([other.status, other.at("error.code")], [409, "idempotency_conflict"])
        const chat = yield* gateway.chat({ messages: [user("x")] }, { ...as(payer), ...key })
        assert.strictEqual(chat.status, 200, "a key belongs to its endpoint")
      }
    })
  )

  it.effect("is limited as chats are", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const chatOnly = yield* gateway.tenant("1", { endpoints: ["chat.completions"] })
      const refused = yield* post(hello, chatOnly)
      assert.deepStrictEqual([refused.status, refused.at("error.code")], [403, "endpoint_not_allowed"])
      assert.match(String(refused.at("error.message")), /responses/)
      const responsesOnly = yield* gateway.tenant("1", { endpoints: ["responses"] })
      assert.strictEqual((yield* post(hello, responsesOnly)).status, 200)
      assert.strictEqual((yield* gateway.chat({ messages: [user("x")] }, as(responsesOnly))).status, 403)
      const poor = yield* gateway.tenant("0")
      assert.strictEqual((yield* post(hello, poor)).status, 402)
      const slow = yield* gateway.tenant("1", { requestsPerMinute: 1 })
      assert.strictEqual((yield* post(hello, slow)).status, 200)
      assert.strictEqual((yield* post(hello, slow)).status, 429)
    })
  )

  it.effect("is refused in the shape of OpenAI's errors, and nothing is held", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const payer = yield* gateway.tenant("1")
      const cases: ReadonlyArray<readonly [body: Json, status: number, code: string]> = [
        [{ ...hello, previous_response_id: "resp_1" }, 400, "unsupported_parameter"],
        [{ ...hello, tools: [{ type: "code_interpreter" }] }, 400, "unsupported_parameter"],
        [{ ...hello, temperature: 9 }, 400, "invalid_request"],
        [{ ...hello, model: "no-such-model" }, 400, "invalid_model"],
        [{ ...hello, metadata: { call_name: "" } }, 400, "invalid_call_name"]
      ]
      for (const [body, status, code] of cases)
        for (const stream of [false, true]) {
          const reply = yield* post({ ...body, stream }, payer)
          assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code])
        }
      assert.strictEqual(yield* settledBalance(payer.organization), usd("1"))
      assert.strictEqual((yield* gateway.request("GET", path)).status, 405)
      assert.strictEqual((yield* gateway.request("GET", `${path}/resp_1`)).status, 404)
    })
  )

  it.effect("that breaks off costs nothing and ends as failed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const payer = yield* gateway.tenant("1")
      const input = "[fault:length 30] [fault:cut after=5] Go."
      const reply = yield* post({ ...hello, input, stream: true }, payer)
      const response = foldedResponse(responseEventsIn(reply.text))
      assert.deepInclude(response, { status: "failed", usage: null })
      assert.strictEqual(at(response, "error", "code"), "server_error")
      assert.strictEqual(at(response, "output", 0, "status"), "incomplete")
      assert.strictEqual(yield* settledBalance(payer.organization), usd("1"))
      assert.strictEqual((yield* receiptOf(response["id"], payer)).at("outcome"), "broken")
    })
  )
})

describeWithFakeProvider("A response", (it) => {
  it.effect("fails over as a chat does", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      provider.script(Fake.error(503), Fake.answers("from the second"))
      const reply = yield* post({ model: "gpt-5-mini", input: "Hello" })
      assert.strictEqual(reply.status, 200)
      const receipt = yield* receiptOf(reply.at("id"))
      assert.strictEqual((receipt.at("attempts") as ReadonlyArray<unknown>).length, 2)
      assert.strictEqual(at(outputOf(JSON.parse(reply.text))[0], "content", 0, "text"), "from the second")
    })
  )
})
