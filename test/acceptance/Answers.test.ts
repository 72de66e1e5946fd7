import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type OpenAI from "openai"

import { as, at, chunksOf, costOf, type Json, priced, receiptOf, timeTool, user, weatherTool } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, TestGateway } from "../support/TestGateway.ts"

const finishReasons: ReadonlyArray<readonly [message: string, members: Json, reason: string]> = [
  ["Say something.", {}, "stop"],
  ["Say something.", { stop: ["sandbox"] }, "stop"],
  ["Say something.", { max_completion_tokens: 2 }, "length"],
  ["[call:get_weather] Weather?", { tools: [weatherTool] }, "tool_calls"],
  ["[fault:refused] Say something.", {}, "content_filter"]
]

describeGateway("A chat completion", (it) => {
  it.effect("of a direct call has the documented members and no others", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const before = Math.floor(Date.now() / 1000)
      const reply = yield* gateway.chat({ model: "gpt-4o-mini", messages: [user("Hello")] })
      assert.strictEqual(reply.status, 200)
      const { created, id, system_fingerprint, usage, ...rest } = JSON.parse(reply.text)
      assert.match(id, /^chatcmpl-[0-9a-f-]{36}$/)
      assert.strictEqual(reply.headers.get("x-request-id"), id.slice("chatcmpl-".length))
      assert.isTrue(Number.isInteger(created) && created >= before && created <= Date.now() / 1000)
      assert.match(system_fingerprint, /^fp_\w+$/)
      assert.deepStrictEqual(rest, {
        object: "chat.completion",
        model: "gpt-4o-mini",
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content:
                "This is the sandbox, a simulated provider, answering as gpt-4o-mini. It received 1 message(s). " +
                "The last one says: “Hello”.",
              refusal: null
            },
            logprobs: null,
            finish_reason: "stop"
          }
        ],
        svc: { routed: false, routed_model: null, routing_latency_ms: null }
      })
      assert.deepStrictEqual(Object.keys(usage), [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "cost",
        "prompt_tokens_details",
        "completion_tokens_details"
      ])
      assert.strictEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
      assert.deepStrictEqual(usage.prompt_tokens_details, { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 })
      const tokens = { input: usage.prompt_tokens, output: usage.completion_tokens }
      assert.strictEqual(costOf({ usage }), yield* priced("gpt-4o-mini", tokens))
    })
  )

  it.effect("that calls tools has null content and the calls", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const reply = yield* gateway.chat({
        model: "claude-sonnet-5",
        messages: [user("[call:get_weather,get_time] Weather and time?")],
        tools: [weatherTool, timeTool]
      })
      const { tool_calls, ...message } = reply.at("choices.0.message") as Json & { tool_calls: ReadonlyArray<Json> }
      assert.deepStrictEqual(message, { role: "assistant", content: null, refusal: null })
      assert.deepStrictEqual(
        tool_calls.map((call) => [Object.keys(call), call["type"], at(call, "function", "name")]),
        [
          [["id", "type", "function"], "function", "get_weather"],
          [["id", "type", "function"], "function", "get_time"]
        ]
      )
      assert.strictEqual(new Set(tool_calls.map(({ id }) => id)).size, 2)
      assert.isString(JSON.parse(String(at(tool_calls[0], "function", "arguments"))).city)
    })
  )

  for (const [name, members] of Object.entries({ "svc-auto": { model: "svc-auto" }, null: { model: null }, none: {} }))
    it.effect(`is routed when the model is ${name}, and names the model that answered`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const reply = yield* gateway.chat({ ...members, messages: [user("Hello")] })
        assert.strictEqual(reply.status, 200)
        const { svc, model } = JSON.parse(reply.text)
        assert.deepStrictEqual(Object.keys(svc), ["routed", "routed_model", "routing_latency_ms"])
        assert.isTrue(svc.routed)
        assert.strictEqual(svc.routed_model, model)
        assert.notStrictEqual(model, "svc-auto")
        assert.isTrue(svc.routing_latency_ms >= 0 && svc.routing_latency_ms < 60_000)
        assert.strictEqual((yield* gateway.request("GET", `/v1/models/${model}`)).status, 200)
      })
    )

  for (const [message, members, reason] of finishReasons)
    it.effect(`ends with ${reason}, plain and streamed, on ${JSON.stringify([message, Object.keys(members)])}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const body = { model: "gpt-4o-mini", messages: [user(message)], ...members }
        const plain = yield* gateway.chat(body)
        assert.strictEqual(plain.at("choices.0.finish_reason"), reason)
        const chunks = chunksOf((yield* gateway.chat({ ...body, stream: true })).text)
        const reasons = chunks
          .map((chunk) => at(chunk, "choices", 0, "finish_reason"))
          .filter((one) => typeof one === "string")
        assert.deepStrictEqual(reasons, [reason])
        assert.deepStrictEqual(at(chunks.at(-1), "usage"), plain.at("usage"))
      })
    )

  it.effect("ends before the stop sequence, sent as a list or as a string", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const stop of [["a simulated", "never"], "a simulated"]) {
        const reply = yield* gateway.chat({ model: "claude-haiku-4-5", messages: [user("Hi")], stop })
        assert.strictEqual(reply.at("choices.0.message.content"), "This is the sandbox, ")
      }
    })
  )

  it.effect("has a unique id", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const ask = gateway.chat({ model: "gpt-4o-mini", messages: [user("Same")] })
      const ids = yield* Effect.forEach([1, 2, 3, 4], () => Effect.map(ask, (reply) => reply.at("id")))
      assert.strictEqual(new Set(ids).size, 4)
    })
  )

  for (const model of ["gpt-5.2", "claude-sonnet-5", "svc-auto"])
    it.effect(`goes through three turns of tools with ${model} and the SDK`, () =>
      Effect.gen(function* () {
        const { openai } = yield* TestGateway
        const messages: Array<OpenAI.ChatCompletionMessageParam> = []
        for (const turn of [1, 2, 3]) {
          messages.push(user(`[call:get_weather,get_time] Turn ${turn}: how is the weather?`))
          const ask = () =>
            openai.chat.completions.create({ model, messages, tools: [weatherTool, timeTool], user: "ignored" })
          const answer = yield* Effect.promise(ask)
          const message = answer.choices[0]?.message
          assert.strictEqual(answer.choices[0]?.finish_reason, "tool_calls")
          assert.lengthOf(message?.tool_calls ?? [], 2)
          if (message === undefined) continue
          messages.push(message)
          for (const call of message.tool_calls ?? [])
            messages.push({ role: "tool", tool_call_id: call.id, content: `sunny on turn ${turn}` })
          const answered = yield* Effect.promise(ask)
          assert.strictEqual(answered.choices[0]?.finish_reason, "stop")
          assert.include(answered.choices[0]?.message.content, `sunny on turn ${turn}`)
          if (answered.choices[0] !== undefined) messages.push(answered.choices[0].message)
        }
      })
    )

  for (const stream of [false, true])
    it.effect(`works with the tool runner of the SDK (${stream ? "streamed" : "plain"})`, () =>
      Effect.gen(function* () {
        const { openai } = yield* TestGateway
        const inputs: Array<unknown> = []
        const runTool = (args: string) => (inputs.push(JSON.parse(args)), "drizzle")
        const parameters = { ...weatherTool.function.parameters, required: ["city"] }
        const body = {
          model: "claude-sonnet-5",
          messages: [user("[call:get_weather] How is it outside?")],
          tools: [{ type: "function" as const, function: { ...weatherTool.function, parameters, function: runTool } }]
        }
        const text = yield* Effect.promise(() =>
          stream
            ? openai.chat.completions.runTools({ ...body, stream: true }).finalContent()
            : openai.chat.completions.runTools(body).finalContent()
        )
        assert.strictEqual(text, "The tool answered: “drizzle”.")
        assert.lengthOf(inputs, 1)
        assert.isString(at(inputs[0], "city"))
      })
    )
})

/** The usage that a provider reports for a model, the counts in the answer, and the tokens that are billed. */
const usages: ReadonlyArray<{
  readonly title: string
  readonly model: string
  readonly usage: Json
  readonly counts: readonly [prompt: number, completion: number, cached: number, written: number, reasoning: number]
  readonly tokens: { readonly [bucket: string]: number }
  readonly tier?: number
}> = [
  {
    title: "OpenAI counts cached tokens inside the prompt",
    model: "gpt-5.2",
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 70,
      total_tokens: 1_070,
      prompt_tokens_details: { cached_tokens: 640 },
      completion_tokens_details: { reasoning_tokens: 50 }
    },
    counts: [1_000, 70, 640, 0, 50],
    tokens: { input: 360, cache_read: 640, output: 70 }
  },
  {
    title: "OpenAI counts audio inside the prompt",
    model: "gpt-audio-mini",
    usage: {
      prompt_tokens: 300,
      completion_tokens: 7,
      total_tokens: 307,
      prompt_tokens_details: { audio_tokens: 100 }
    },
    counts: [300, 7, 0, 0, 0],
    tokens: { input: 200, audio_input: 100, output: 7 }
  },
  {
    title: "Anthropic counts cached tokens beside the input",
    model: "claude-sonnet-5",
    usage: {
      input_tokens: 11,
      output_tokens: 13,
      cache_read_input_tokens: 2_000,
      cache_creation_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 }
    },
    counts: [2_511, 13, 2_000, 500, 0],
    tokens: { input: 11, cache_read: 2_000, cache_write: 300, cache_write_1h: 200, output: 13 }
  },
  {
    title: "a price tier holds for the whole request",
    model: "claude-haiku-5-5",
    usage: { input_tokens: 20_000, output_tokens: 10, cache_read_input_tokens: 80_001 },
    counts: [100_001, 10, 80_001, 0, 0],
    tokens: { input: 20_000, cache_read: 80_001, output: 10 },
    tier: 0
  },
  {
    title: "a price tier begins above its threshold",
    model: "claude-haiku-5-5",
    usage: { input_tokens: 20_000, output_tokens: 10, cache_read_input_tokens: 80_000 },
    counts: [100_000, 10, 80_000, 0, 0],
    tokens: { input: 20_000, cache_read: 80_000, output: 10 }
  }
]

describeWithFakeProvider("The usage of a chat completion", (it) => {
  for (const { counts, model, tier, title, tokens, usage } of usages)
    for (const stream of [false, true])
      it.effect(`is exact: ${title} (${stream ? "streamed" : "plain"})`, () =>
        Effect.gen(function* () {
          const provider = yield* FakeProvider
          const gateway = yield* TestGateway
          provider.script(Fake.answers("fine", { usage }))
          const reply = yield* gateway.chat({ model, stream, messages: [user("Hello")] })
          const answer = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
          const [prompt, completion, cached, written, reasoning] = counts
          const expected = yield* priced(model, tokens, tier)
          assert.deepStrictEqual(answer?.["usage"], {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt + completion,
            cost: Number(expected) / 1e12,
            prompt_tokens_details: {
              cached_tokens: cached,
              cache_write_tokens: written,
              audio_tokens: tokens["audio_input"] ?? 0
            },
            completion_tokens_details: { reasoning_tokens: reasoning }
          })
        })
      )

  it.effect("is counted by the gateway, and marked as estimated, when the provider reports none", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.answers("one two three four", { usage: {} }))
      const reply = yield* gateway.chat({ model: "gpt-4.1", messages: [user("Count to four, please")] })
      assert.strictEqual(reply.at("usage.completion_tokens"), 4)
      assert.isAbove(Number(reply.at("usage.prompt_tokens")), 4)
      const receipt = yield* receiptOf(reply.at("id"))
      assert.isTrue(receipt.at("tokens.estimated"))
      assert.strictEqual(receipt.at("tokens.output"), 4)
    })
  )
})

const thinking: Json = { type: "thinking", thinking: "Let me see.", signature: "c2lnbmVk" }

describeWithFakeProvider("The message of a chat completion", (it) => {
  const withReasoning = Fake.answers("", { message: { content: [thinking, { type: "text", text: "Yes." }] } })

  it.effect("has the model's reasoning, and the details to be sent back", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(withReasoning)
      const body = { model: "claude-sonnet-4-6", messages: [user("Well?")], reasoning_effort: "high" }
      const message = (yield* gateway.chat(body)).at("choices.0.message") as Json
      assert.strictEqual(message["content"], "Yes.")
      assert.strictEqual(message["reasoning"], "Let me see.")
      const [detail, ...others] = message["reasoning_details"] as ReadonlyArray<Json>
      assert.lengthOf(others, 0)
      assert.strictEqual(detail?.["type"], "reasoning.text")
      assert.strictEqual(detail?.["text"], "Let me see.")
      assert.strictEqual(detail?.["signature"], "c2lnbmVk")

      const again = [...body.messages, message, user("Sure?")]
      assert.strictEqual((yield* gateway.chat({ ...body, messages: again })).status, 200)
      const second = provider.received[1]
      assert.deepStrictEqual(at(second?.body, "messages", 1), {
        role: "assistant",
        content: [thinking, { type: "text", text: "Yes." }]
      })
    })
  )

  for (const [name, reasoning] of Object.entries({
    excluded: { effort: "high", exclude: true },
    "switched off": { enabled: false }
  }))
    it.effect(`has no reasoning when that is ${name}, even if the model sends some`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        provider.script(withReasoning)
        for (const stream of [false, true]) {
          const reply = yield* gateway.chat({ model: "claude-sonnet-4-6", messages: [user("Hm?")], reasoning, stream })
          assert.notInclude(reply.text, "Let me see.")
          assert.notInclude(reply.text, `"reasoning":`)
        }
      })
    )

  it.effect("carries a refusal as a refusal, without content", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.answers("", { message: { content: null, refusal: "I will not." } }))
      const reply = yield* gateway.chat({ model: "gpt-4o", messages: [user("Hello")] })
      assert.deepStrictEqual(reply.at("choices.0.message"), {
        role: "assistant",
        content: null,
        refusal: "I will not."
      })
    })
  )

  it.effect("drops text beside tool calls", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const tool_calls = [{ id: "call_1", type: "function", function: { name: "get_time", arguments: "" } }]
      provider.script(Fake.answers("Wait.", { message: { tool_calls }, finishReason: "stop" }))
      const reply = yield* gateway.chat({ model: "gpt-4o", messages: [user("Time?")], tools: [timeTool] }, as(tenant))
      assert.strictEqual(reply.at("choices.0.finish_reason"), "tool_calls")
      assert.isNull(reply.at("choices.0.message.content"))
    })
  )
})
