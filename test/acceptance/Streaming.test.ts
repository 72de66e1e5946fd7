import { assert } from "@effect/vitest"
import { Effect } from "effect"

import {
  as,
  at,
  chunksOf,
  type Json,
  receiptOf,
  refusal,
  settledBalance,
  textIn,
  timeTool,
  user,
  weatherTool
} from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"

const hello = { model: "gpt-4o-mini", messages: [user("Hello")] }
/** A request whose answer breaks off after five tokens. */
const broken = { ...hello, messages: [user("[fault:length 30] [fault:cut after=5] Go.")] }

describeGateway("A streamed chat completion", (it) => {
  it.effect("is a sequence of documented chunks, and nothing else", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const reply = yield* gateway.chat({ ...hello, stream: true })
      assert.strictEqual(reply.status, 200)
      assert.match(reply.headers.get("content-type") ?? "", /^text\/event-stream/)
      const chunks = chunksOf(reply.text)
      const base = ["id", "object", "created", "model", "system_fingerprint", "choices"]
      const [first, last] = [chunks[0], chunks.at(-1)]
      assert.deepStrictEqual(Object.keys(first ?? {}), [...base, "svc"])
      assert.deepStrictEqual(Object.keys(last ?? {}), [...base, "usage", "svc"])
      for (const chunk of chunks.slice(1, -1)) assert.deepStrictEqual(Object.keys(chunk), base)
      const shared = chunks.map((chunk) => ({ ...chunk, choices: [], svc: 0, usage: 0 }) as Json)
      for (const rest of shared) assert.deepStrictEqual(rest, shared[0])
      assert.strictEqual(shared[0]?.["object"], "chat.completion.chunk")
      assert.strictEqual(shared[0]?.["model"], "gpt-4o-mini")
      assert.deepStrictEqual(first?.["choices"], [
        { index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null }
      ])
      assert.deepStrictEqual(first?.["svc"], { routed: false, routed_model: null, routing_latency_ms: null })
      assert.deepStrictEqual(last?.["choices"], [{ index: 0, delta: {}, logprobs: null, finish_reason: "stop" }])
      for (const chunk of chunks.slice(0, -1)) assert.isNull(at(chunk, "choices", 0, "finish_reason"))
      assert.deepStrictEqual(last?.["svc"], first?.["svc"])
    })
  )

  it.effect("has the text and the usage of the plain answer, whatever the stream_options", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const model of ["gpt-4o-mini", "claude-sonnet-5"]) {
        const plain = yield* gateway.chat({ ...hello, model })
        for (const stream_options of [undefined, null, { include_usage: false }, { include_usage: true }]) {
          const reply = yield* gateway.chat({ ...hello, model, stream: true, stream_options })
          const chunks = chunksOf(reply.text)
          assert.strictEqual(textIn(chunks), plain.at("choices.0.message.content"))
          assert.deepStrictEqual(chunks.at(-1)?.["usage"], plain.at("usage"))
          assert.lengthOf(
            chunks.filter((chunk) => "usage" in chunk),
            1
          )
        }
      }
    })
  )

  it.effect("carries the routing on its first and its last chunk", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const chunks = chunksOf((yield* gateway.chat({ messages: [user("Hello")], stream: true })).text)
      const carrying = chunks.flatMap(({ svc }, index) => (svc === undefined ? [] : [index]))
      assert.deepStrictEqual(carrying, [0, chunks.length - 1])
      const { routed_model, routing_latency_ms, ...rest } = at(chunks, 0, "svc") as Json
      assert.deepStrictEqual(rest, { routed: true })
      assert.strictEqual(routed_model, chunks[0]?.["model"])
      assert.isNumber(routing_latency_ms)
      assert.deepStrictEqual(chunks.at(-1)?.["svc"], chunks[0]?.["svc"])
    })
  )

  it.effect("can be read with the SDK, chunk by chunk and through its stream helper", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const text = yield* Effect.promise(async () => {
        let received = ""
        for await (const chunk of await openai.chat.completions.create({ ...hello, stream: true }))
          received += chunk.choices[0]?.delta.content ?? ""
        return received
      })
      const [whole, content] = yield* Effect.promise(async () => {
        const stream = openai.chat.completions.stream(hello)
        return [await stream.finalChatCompletion(), await stream.finalContent()] as const
      })
      assert.match(text, /^This is the sandbox.*“Hello”\.$/)
      assert.strictEqual(content, text)
      assert.strictEqual(whole.choices[0]?.finish_reason, "stop")
      assert.strictEqual(whole.model, "gpt-4o-mini")
    })
  )

  for (const model of ["gpt-5.2", "claude-sonnet-5"])
    it.effect(`of ${model} has tool calls in chunks that the SDK assembles`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const body = {
          model,
          messages: [user("[call:get_weather,get_time] Both, please.")],
          tools: [weatherTool, timeTool]
        }
        const reply = yield* gateway.chat({ ...body, stream: true })
        const deltas = chunksOf(reply.text).flatMap(
          (chunk) => (at(chunk, "choices", 0, "delta", "tool_calls") ?? []) as ReadonlyArray<Json>
        )
        for (const index of [0, 1]) {
          const [head, ...rest] = deltas.filter((delta) => delta["index"] === index)
          assert.deepStrictEqual(Object.keys(head ?? {}), ["index", "id", "type", "function"])
          for (const delta of rest) assert.deepStrictEqual(Object.keys(delta), ["index", "function"])
        }
        const plain = yield* gateway.chat(body)
        const whole = yield* Effect.promise(() => gateway.openai.chat.completions.stream(body).finalChatCompletion())
        assert.strictEqual(whole.choices[0]?.finish_reason, "tool_calls")
        const shown = whole.choices[0]?.message.tool_calls?.map((call) => ({
          id: call.id,
          type: call.type,
          function: { name: at(call, "function", "name"), arguments: at(call, "function", "arguments") }
        }))
        assert.deepStrictEqual(shown, plain.at("choices.0.message.tool_calls") as typeof shown)
      })
    )

  it.effect("that is cut ends with an error chunk and [DONE], and costs nothing", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const reply = yield* gateway.chat({ ...broken, stream: true }, as(tenant))
      assert.strictEqual(reply.status, 200)
      const chunks = chunksOf(reply.text)
      assert.strictEqual(textIn(chunks), "word1 word2 word3 word4 word5")
      const { choices, error, svc, usage } = chunks.at(-1) ?? {}
      assert.deepStrictEqual(choices, [{ index: 0, delta: {}, logprobs: null, finish_reason: "error" }])
      assert.strictEqual(at(error, "code"), "internal_error")
      assert.isString(at(error, "message"))
      assert.strictEqual(at(usage, "cost"), 0)
      assert.deepStrictEqual(svc, chunks[0]?.["svc"])
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      const receipt = yield* receiptOf(chunks[0]?.["id"], tenant)
      assert.deepStrictEqual([receipt.at("outcome"), receipt.at("cost_usd")], ["broken", "0"])
    })
  )

  it.effect("that is cut throws in the SDK, after the text that came before", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      let received = ""
      const error = yield* refusal(async () => {
        for await (const chunk of await openai.chat.completions.create({ ...broken, stream: true }))
          received += chunk.choices[0]?.delta.content ?? ""
      })
      assert.strictEqual(received, "word1 word2 word3 word4 word5")
      assert.strictEqual(error.code, "internal_error")
      yield* refusal(() => openai.chat.completions.stream(broken).finalChatCompletion())
    })
  )

  it.effect("waits silently for the first output, and fails over before it", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const stalled = [user("[fault:stall 300ms] Take your time.")]
      const slow = yield* gateway.chat({ ...hello, messages: stalled, stream: true })
      assert.include(textIn(chunksOf(slow.text)), "Take your time.")
      for (const fault of ["503", "error-in-200", "cut", "overloaded", "html"]) {
        const messages = [user(`[fault:${fault} first] Be there.`)]
        const reply = yield* gateway.chat({ model: "gpt-oss-120b", messages, stream: true })
        assert.strictEqual(reply.status, 200, fault)
        const chunks = chunksOf(reply.text)
        assert.include(textIn(chunks), "Be there.", fault)
        assert.lengthOf(
          chunks.filter((chunk) => at(chunk, "choices", 0, "delta", "role") === "assistant"),
          1
        )
        const receipt = yield* receiptOf(chunks[0]?.["id"])
        assert.strictEqual(receipt.at("endpoint"), "cerebras/gpt-oss-120b", fault)
      }
    })
  )

  it.effect("that never begins has the true status, and the true outcome in its receipt", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const cases = [
        ["[fault:500]", "gpt-4.1", 500, "internal_error"],
        ["[fault:429]", "o3", 429, "rate_limit_exceeded"],
        ["[fault:400]", "gpt-4.1-mini", 400, "invalid_request"]
      ] as const
      for (const [fault, model, status, code] of cases) {
        const reply = yield* gateway.chat({ model, messages: [user(`${fault} No.`)], stream: true }, as(tenant))
        assert.strictEqual(reply.status, status)
        assert.strictEqual(reply.at("error.code"), code)
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
        assert.deepStrictEqual([receipt.at("outcome"), receipt.at("stream"), receipt.at("cost_usd")], [code, true, "0"])
      }
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
    })
  )
})

const thinkingStream = Fake.streams([
  Fake.namedEvent("message_start", {
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [],
      usage: { input_tokens: 9, output_tokens: 1 }
    }
  }),
  Fake.namedEvent("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "" } }),
  Fake.namedEvent("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "Let me " } }),
  Fake.namedEvent("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "see." } }),
  Fake.namedEvent("content_block_delta", { index: 0, delta: { type: "signature_delta", signature: "c2ln" } }),
  Fake.namedEvent("content_block_stop", { index: 0 }),
  Fake.namedEvent("content_block_start", {
    index: 1,
    content_block: { type: "tool_use", id: "toolu_1", name: "get_time", input: {} }
  }),
  Fake.namedEvent("content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json: "{}" } }),
  Fake.namedEvent("content_block_stop", { index: 1 }),
  Fake.namedEvent("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 20 } }),
  Fake.namedEvent("message_stop")
])

const role = Fake.openaiChunk({ role: "assistant", content: "" })
const done = Fake.openaiDone

describeWithFakeProvider("A provider's stream", (it) => {
  it.effect("with thinking has reasoning and details that can be sent back unchanged", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(thinkingStream, Fake.answers("Noon."))
      const body = {
        model: "claude-sonnet-4-6",
        messages: [user("Time?")],
        tools: [timeTool],
        reasoning: { effort: "high" }
      }
      const chunks = chunksOf((yield* gateway.chat({ ...body, stream: true })).text)
      const deltas = chunks.map((chunk) => at(chunk, "choices", 0, "delta"))
      assert.strictEqual(deltas.map((delta) => at(delta, "reasoning") ?? "").join(""), "Let me see.")
      const reasoning_details = deltas.flatMap((delta) => (at(delta, "reasoning_details") ?? []) as ReadonlyArray<Json>)
      assert.strictEqual(reasoning_details.map(({ text }) => text).join(""), "Let me see.")
      // Clients join the chunks of one index into one block.
      const folded = reasoning_details.reduce((block, piece) => ({
        ...block,
        ...piece,
        text: `${String(block["text"])}${String(piece["text"])}`
      }))
      const called = {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "toolu_1", type: "function", function: { name: "get_time", arguments: "{}" } }],
        reasoning_details: [folded]
      }
      const tool = { role: "tool", tool_call_id: "toolu_1", content: "12:00" }
      const second = yield* gateway.chat({ ...body, messages: [...body.messages, called, tool] })
      assert.strictEqual(second.status, 200)
      const [, sent] = provider.received
      assert.deepStrictEqual(at(sent?.body, "messages", 1, "content", 0), {
        type: "thinking",
        thinking: "Let me see.",
        signature: "c2ln"
      })
      assert.strictEqual(at(sent?.body, "messages", 1, "content", 1, "id"), "toolu_1")
    })
  )

  it.effect("is retried when it fails after its role and before any output", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const failing = [
        Fake.streams([role], { ending: "cut" }),
        Fake.streams([role, Fake.openaiChunk({ content: "" }), done]),
        Fake.streams([role, Fake.dataEvent({ error: { message: "overloaded", type: "server_error" } })])
      ]
      for (const first of failing) {
        provider.script(first, Fake.answers("Second."))
        const reply = yield* gateway.chat({ ...hello, stream: true })
        const chunks = chunksOf(reply.text)
        assert.strictEqual(textIn(chunks), "Second.")
        assert.lengthOf(provider.received, 2)
        assert.notProperty(chunks.at(-1), "error")
      }
    })
  )

  const endings = {
    "stops without a finish reason": Fake.streams([role, Fake.openaiChunk({ content: "Half" }), done]),
    "ends without [DONE] or a finish reason": Fake.streams([role, Fake.openaiChunk({ content: "Half" })]),
    "reports an error": Fake.streams([
      role,
      Fake.openaiChunk({ content: "Half" }),
      Fake.dataEvent({ error: { message: "boom", type: "server_error" } })
    ]),
    "sends invalid JSON": Fake.streams([role, Fake.openaiChunk({ content: "Half" }), "data: {oops\n\n"])
  }
  for (const [name, behaviour] of Object.entries(endings))
    it.effect(`that ${name} after its first output is broken, and is not retried`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        provider.script(behaviour)
        const reply = yield* gateway.chat({ ...hello, model: "gpt-4.1-nano", stream: true }, as(tenant))
        const chunks = chunksOf(reply.text)
        assert.strictEqual(textIn(chunks), "Half")
        assert.strictEqual(at(chunks.at(-1), "choices", 0, "finish_reason"), "error")
        assert.strictEqual(at(chunks.at(-1), "error", "code"), "internal_error")
        assert.match(String(at(chunks.at(-1), "error", "message")), /broke: .*[^.]\. Nothing was charged$/)
        assert.lengthOf(provider.received, 1)
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      })
    )

  it.effect("reaches the client before it ends", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const { openai } = yield* TestGateway
      const early = Promise.withResolvers<void>()
      provider.script(async (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(role + Fake.openaiChunk({ content: "Early" }))
        await early.promise
        response.end(Fake.openaiChunk({ content: " late" }) + Fake.openaiChunk({}, "stop") + done)
      })
      const received = yield* Effect.promise(async () => {
        const seen: Array<string> = []
        for await (const chunk of await openai.chat.completions.create({ ...hello, stream: true })) {
          const text = chunk.choices[0]?.delta.content
          if (text) seen.push(text)
          if (text === "Early") early.resolve()
        }
        return seen
      })
      assert.deepStrictEqual(received, ["Early", " late"])
    })
  )
})
