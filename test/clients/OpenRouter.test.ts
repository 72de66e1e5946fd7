import { assert } from "@effect/vitest"
/** The Vercel AI SDK with `@openrouter/ai-sdk-provider`, which carries the model's reasoning through a conversation. */
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import { generateText, isStepCount, type ModelMessage, streamText, tool } from "ai"
import { Effect } from "effect"

import { at, type Json, user } from "../support/Chat.ts"
import * as Scripted from "../support/ScriptedProvider.ts"
import { ScriptedProvider } from "../support/ScriptedProvider.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { aiSdkClient } from "./AiSdk.ts"
import { type Ask, describeClient, timeInput } from "./ClientSuite.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

const modelOf = ({ baseUrl, key, model }: Pick<Ask, "baseUrl" | "key" | "model">) =>
  createOpenRouter({ baseURL: baseUrl, apiKey: key }).chat(model, { reasoning: { effort: "high" } })

describeClient(
  aiSdkClient("The AI SDK, OpenRouter's provider", (ask) =>
    createOpenRouter({ baseURL: ask.baseUrl, apiKey: ask.key }).chat(ask.model)
  ),
  onEmbedded
)

const thought = (about: string): Json => ({
  type: "thinking",
  thinking: `Let me see about ${about}.`,
  signature: Buffer.from(`signed ${about}`).toString("base64")
})
const hidden = (about: string): Json => ({
  type: "redacted_thinking",
  data: Buffer.from(`hidden ${about}`).toString("base64")
})
const call: Json = { type: "tool_use", id: "toolu_1", name: "get_time", input: {} }
const said = (text: string): Json => ({ type: "text", text })

/** Content blocks as Anthropic streams them: thinking in two pieces and its signature after them. */
const blockEvents = (block: Json, index: number): ReadonlyArray<string> => {
  const start = (content_block: Json) => Scripted.namedEvent("content_block_start", { index, content_block })
  const delta = (type: string, members: Json) =>
    Scripted.namedEvent("content_block_delta", { index, delta: { type, ...members } })
  const stop = Scripted.namedEvent("content_block_stop", { index })
  switch (block["type"]) {
    case "thinking": {
      const text = String(block["thinking"])
      return [
        start({ type: "thinking", thinking: "" }),
        delta("thinking_delta", { thinking: text.slice(0, 7) }),
        delta("thinking_delta", { thinking: text.slice(7) }),
        delta("signature_delta", { signature: block["signature"] }),
        stop
      ]
    }
    case "text":
      return [start(said("")), delta("text_delta", { text: block["text"] }), stop]
    default:
      return [start(block), stop]
  }
}

/** Anthropic's answer with these blocks, plain or streamed as it was asked for. */
const answers =
  (...content: ReadonlyArray<Json>): Scripted.Behaviour =>
  (response, received) => {
    const stop_reason = content.includes(call) ? "tool_use" : "end_turn"
    const usage = { input_tokens: 10, output_tokens: 20 }
    const message = { id: "msg_1", type: "message", role: "assistant", content: [], stop_reason: null, usage }
    const events = [
      Scripted.namedEvent("message_start", { message }),
      ...content.flatMap(blockEvents),
      Scripted.namedEvent("message_delta", { delta: { stop_reason }, usage }),
      Scripted.namedEvent("message_stop")
    ]
    return received.body["stream"] === true
      ? Scripted.pieces(events)(response, received)
      : Scripted.reply(200, { ...message, content, stop_reason })(response, received)
  }

/** The blocks of every assistant message that reached the provider, in order. */
const assistantBlocks = ({ body }: Scripted.Received): unknown =>
  (body["messages"] as ReadonlyArray<Json>).filter(({ role }) => role === "assistant").map(({ content }) => content)

const converse = Effect.fnUntraced(function* (messages: ReadonlyArray<ModelMessage>, stream: boolean) {
  const gateway = yield* TestGateway
  const settings = {
    model: modelOf({ baseUrl: `${gateway.url}/v1`, key: gateway.key, model: "claude-sonnet-4-6" }),
    messages: [...messages],
    maxRetries: 0,
    stopWhen: isStepCount(3),
    tools: { get_time: tool({ inputSchema: timeInput, execute: () => "12:00" }) }
  }
  return yield* Effect.promise(async () => {
    const result = stream ? streamText(settings) : await generateText(settings)
    const [text, reasoning, said] = await Promise.all([result.text, result.reasoningText, result.responseMessages])
    return { text, reasoning, messages: [...messages, ...said] }
  })
})

onEmbedded.scripted("Reasoning, through OpenRouter's provider,", (it) => {
  for (const stream of [false, true])
    it.effect(`goes back to Anthropic as it was signed, over a tool call (${stream ? "streamed" : "plain"})`, () =>
      Effect.gen(function* () {
        const provider = yield* ScriptedProvider
        const first = [thought("the clock"), hidden("the clock"), call]
        const second = [thought("noon"), said("It is noon.")]
        yield* provider.script(answers(...first), answers(...second))
        const { messages, reasoning, text } = yield* converse([user("What time is it?")], stream)
        assert.strictEqual(text, "It is noon.")
        assert.strictEqual(reasoning, "Let me see about noon.")
        const [, again] = yield* provider.received
        if (again === undefined) return assert.fail("the tool's result was not sent")
        assert.deepStrictEqual(assistantBlocks(again), [first])
        assert.strictEqual(at(again.body, "messages", 2, "content", 0, "content"), "12:00")

        yield* provider.script(answers(said("Yes.")))
        yield* converse([...messages, user("Sure?")], stream)
        const [third] = yield* provider.received
        if (third === undefined) return assert.fail("the next turn was not sent")
        assert.deepStrictEqual(assistantBlocks(third), [first, second])
      })
    )

  it.effect.fails(`keeps every hidden block of a conversation`, () =>
    Effect.gen(function* () {
      const provider = yield* ScriptedProvider
      const first = [hidden("the clock"), hidden("the hands"), call]
      yield* provider.script(answers(...first), answers(said("It is noon.")))
      yield* converse([user("What time is it?")], false)
      const [, again] = yield* provider.received
      if (again === undefined) return assert.fail("the tool's result was not sent")
      assert.deepStrictEqual(assistantBlocks(again), [first])
    })
  )
})
