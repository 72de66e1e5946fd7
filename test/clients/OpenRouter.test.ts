/** The Vercel AI SDK with `@openrouter/ai-sdk-provider`, which carries the model's reasoning through a conversation. */
import { assert } from "@effect/vitest"
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import { generateText, isStepCount, type ModelMessage, streamText, tool } from "ai"
import { Effect } from "effect"

import { at, type Json, user } from "../support/Chat.ts"
import { type Received, FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { aiSdkClient } from "./AiSdk.ts"
import { answersWith, redactedThinking, textBlock, thinkingBlock, toolUse } from "./AnthropicBlocks.ts"
import { type ClientRequest, describeClient, timeInput } from "./ClientSuite.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

const modelOf = ({ baseUrl, key, model }: Pick<ClientRequest, "baseUrl" | "key" | "model">) =>
  createOpenRouter({ baseURL: baseUrl, apiKey: key }).chat(model, { reasoning: { effort: "high" } })

describeClient(
  aiSdkClient("The AI SDK, OpenRouter's provider", (request) =>
    createOpenRouter({ baseURL: request.baseUrl, apiKey: request.key }).chat(request.model)
  ),
  onEmbedded
)

/** The content of every assistant message that reached the provider, in order. */
const assistantContent = ({ body }: Received): unknown =>
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
    const [text, reasoning, sent] = await Promise.all([result.text, result.reasoningText, result.responseMessages])
    return { text, reasoning, messages: [...messages, ...sent] }
  })
})

/** Asserts that the reasoning of this model is shown completely and once, plain and streamed. */
const assertShownOnce = Effect.fnUntraced(function* (model: string) {
  const gateway = yield* TestGateway
  const call = { model: modelOf({ baseUrl: `${gateway.url}/v1`, key: gateway.key, model }), prompt: "Hello" }
  for (const result of [yield* Effect.promise(() => generateText(call)), streamText(call)]) {
    const reasoning = yield* Effect.promise(async () => result.reasoningText)
    assert.strictEqual(reasoning, "The conversation has 1 messages. The sandbox thinks for show and answers at once.")
  }
})

onEmbedded.sandbox("Reasoning, through OpenRouter's provider,", (it) => {
  for (const model of ["claude-sonnet-4-6", "gemini-2.5-flash"])
    it.effect(`of ${model} is shown once`, () => assertShownOnce(model))

  // The summary is streamed as text, and is sent again, complete, as the block that clients send back.
  it.effect("of gpt-5.2 is shown once", () => assertShownOnce("gpt-5.2"))
})

onEmbedded.fakeProvider("Reasoning, through OpenRouter's provider,", (it) => {
  for (const stream of [false, true])
    it.effect(`is sent back to Anthropic as it was signed, over a tool call (${stream ? "streamed" : "plain"})`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const first = [thinkingBlock("the clock"), redactedThinking("the clock"), toolUse("get_time")]
        const second = [thinkingBlock("noon"), textBlock("It is noon.")]
        provider.script(answersWith(...first), answersWith(...second))
        const { messages, reasoning, text } = yield* converse([user("What time is it?")], stream)
        assert.strictEqual(text, "It is noon.")
        assert.strictEqual(reasoning, "Let me see about noon.")
        const [, again] = provider.received
        if (again === undefined) return assert.fail("the tool's result was not sent")
        assert.deepStrictEqual(assistantContent(again), [first])
        assert.strictEqual(at(again.body, "messages", 2, "content", 0, "content"), "12:00")

        provider.script(answersWith(textBlock("Yes.")))
        yield* converse([...messages, user("Sure?")], stream)
        const [third] = provider.received
        if (third === undefined) return assert.fail("the next turn was not sent")
        assert.deepStrictEqual(assistantContent(third), [first, second])
      })
    )

  // The client treats blocks without an id as the same block.
  it.effect("keeps every redacted block of a conversation", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const first = [redactedThinking("the clock"), redactedThinking("the hands"), toolUse("get_time")]
      provider.script(answersWith(...first), answersWith(textBlock("It is noon.")))
      yield* converse([user("What time is it?")], false)
      const [, again] = provider.received
      if (again === undefined) return assert.fail("the tool's result was not sent")
      assert.deepStrictEqual(assistantContent(again), [first])
    })
  )
})
