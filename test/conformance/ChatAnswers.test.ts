/** Every kind of chat answer has the shape of OpenAI's with our additions, and matches `/openapi.json`. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { answersWith, redactedThinking, textBlock, thinkingBlock, toolUse } from "../clients/AnthropicBlocks.ts"
import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { at, chunksOf, type Json, timeTool, user, weatherTool } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { TestGateway } from "../support/TestGateway.ts"
import * as Theirs from "./OpenAiShapes.ts"
import * as Ours from "./OurShapes.ts"
import { assertShape, type Declared, published } from "./PublishedDocument.ts"

const path = "/v1/chat/completions"

interface Case {
  readonly name: string
  readonly body: Json
  readonly answer?: Fake.Behaviour
  readonly finish: string
  /** The members that this message must have beside those that every message has. */
  readonly members?: ReadonlyArray<string>
}

const commonMembers = ["role", "content", "refusal"]

const assertPlain = (declared: Declared, { finish, members = [], name }: Case, text: string) => {
  const answer: Json = JSON.parse(text)
  assertShape(Theirs.completion, answer, name)
  assertShape(Ours.completion, answer, name)
  declared("post", path, 200, "application/json", answer, name)
  const message = at(answer, "choices", 0, "message") as Json
  assert.strictEqual(at(answer, "choices", 0, "finish_reason"), finish, name)
  assert.sameMembers(Object.keys(message), [...commonMembers, ...members], name)
}

const assertStream = (declared: Declared, { finish, members = [], name }: Case, text: string) => {
  const chunks = chunksOf(text)
  const isBroken = finish === "error"
  const { broken, first, last, middle } = Ours.chunks
  for (const [index, chunk] of chunks.entries()) {
    const about = `${name}, chunk ${index}`
    const isLast = index === chunks.length - 1
    if (!(isLast && isBroken)) assertShape(Theirs.chunk, chunk, about)
    assertShape(index === 0 ? first : !isLast ? middle : isBroken ? broken : last, chunk, about)
    // By the standard of server-sent events, an event without a name has the type `message`.
    declared("post", path, 200, "text/event-stream", { event: "message", data: chunk }, about)
  }
  const choices = chunks.map((chunk) => at(chunk, "choices", 0))
  const reasons = choices.map((choice) => at(choice, "finish_reason")).filter((reason) => typeof reason === "string")
  assert.deepStrictEqual(reasons, [finish], name)
  const seen = new Set(choices.flatMap((choice) => Object.keys((at(choice, "delta") as Json | undefined) ?? {})))
  for (const member of members) assert.isTrue(seen.has(member), `${name}: ${member} in ${[...seen].join()}`)
  for (const member of seen)
    assert.include([...commonMembers, ...members], member, `${name}: a delta with an unexpected member`)
}

/** The beginning of an image; the simulated providers do not decode it. */
const pixel = "data:image/png;base64,iVBORw0KGgo="
const reportFormat = {
  type: "json_schema",
  json_schema: {
    name: "report",
    strict: true,
    schema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false
    }
  }
}
const promptOf = (content: string, more: Json = {}): Json => ({ messages: [user(content)], ...more })
const tools = [weatherTool, timeTool]
const reasoningMembers = ["reasoning", "reasoning_details"]

/** One per wire protocol. */
const [openai, anthropic, gemini, responses] = ["gpt-4o-mini", "claude-sonnet-5", "gemini-2.5-flash", "gpt-5.2"]
const all = [openai, anthropic, gemini, responses]
/** A model that reasons only on request. */
const anthropicThinking = "claude-sonnet-4-6"
const reasoningModels = [anthropicThinking, gemini, responses]
const hiddenReasoning = promptOf("Hello", { reasoning: { effort: "high", exclude: true } })

/** One case for each of these models. */
const each = (models: ReadonlyArray<string>, what: string, body: Json, rest: Pick<Case, "finish" | "members">) =>
  models.map((model): Case => ({ name: `${what} of ${model}`, body: { model, ...body }, ...rest }))

const calls = (what: string, prompt: string) =>
  all.flatMap((model) =>
    each([model], what, promptOf(prompt, { tools }), {
      finish: "tool_calls",
      // Gemini signs its tool calls and requires the signatures in the next turn.
      members: ["tool_calls", ...(model === gemini ? ["reasoning_details"] : [])]
    })
  )

const image = { type: "image_url", image_url: { url: pixel } }
const audio = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }

/** Answers that the sandbox gives in every protocol. */
const sandboxCases: ReadonlyArray<Case> = [
  { name: "routed text", body: promptOf("Hello", { reasoning_effort: "none" }), finish: "stop" },
  ...each(all, "text", promptOf("Hello"), { finish: "stop" }),
  ...calls("a tool call", "[call:get_weather] Go."),
  ...calls("parallel tool calls", "[call:get_weather,get_time] Go."),
  ...each(reasoningModels, "reasoning", promptOf("Hello", { reasoning_effort: "high" }), {
    finish: "stop",
    members: reasoningMembers
  }),
  ...each([anthropicThinking, gemini], "hidden reasoning", hiddenReasoning, { finish: "stop" }),
  // OpenAI's reasoning is encrypted: it shows no text, and it is needed in the next turn.
  ...each([responses], "hidden reasoning", hiddenReasoning, { finish: "stop", members: ["reasoning_details"] }),
  ...each(all, "a cut text", promptOf("[fault:length 50] Go.", { max_tokens: 20 }), { finish: "length" }),
  ...each(all, "filtered content", promptOf("[fault:refused] Go."), { finish: "content_filter" }),
  ...each(all, "an object of a schema", promptOf("Oslo?", { response_format: reportFormat }), { finish: "stop" }),
  ...each(
    all,
    "an image",
    { messages: [{ role: "user", content: [textBlock("What is it?"), image] }] },
    { finish: "stop" }
  ),
  ...each(
    ["gpt-audio-mini", gemini],
    "audio",
    { messages: [{ role: "user", content: [textBlock("What is said?"), audio] }] },
    { finish: "stop" }
  )
]

const toolCalls = (...names: ReadonlyArray<string>): Json => ({
  tool_calls: names.map((name, index) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: "{}" }
  }))
})

/** Answers that the sandbox cannot give, from the fake provider. */
const fakeProviderCases: ReadonlyArray<Case> = [
  {
    name: "OpenAI's refusal",
    body: promptOf("Go.", { model: openai }),
    answer: Fake.answers("", { message: { content: null, refusal: "I will not." } }),
    finish: "stop"
  },
  {
    name: "OpenAI's text beside parallel tool calls",
    body: promptOf("Go.", { model: openai, tools }),
    answer: Fake.answers("Wait.", { message: toolCalls("get_time", "get_weather"), finishReason: "tool_calls" }),
    finish: "tool_calls",
    members: ["tool_calls"]
  },
  {
    name: "OpenAI's filter",
    body: promptOf("Go.", { model: openai }),
    answer: Fake.answers("I", { finishReason: "content_filter" }),
    finish: "content_filter"
  },
  {
    name: "an answer without usage",
    body: promptOf("Go.", { model: openai }),
    answer: Fake.answers("one two", { usage: {} }),
    finish: "stop"
  },
  {
    name: "Anthropic's thinking, text and tool calls",
    body: promptOf("Go.", { model: anthropicThinking, tools, reasoning_effort: "high" }),
    answer: answersWith(
      thinkingBlock("it"),
      redactedThinking("it"),
      textBlock("Wait."),
      toolUse("get_time"),
      toolUse("get_weather", "toolu_2")
    ),
    finish: "tool_calls",
    members: [...reasoningMembers, "tool_calls"]
  },
  {
    name: "Anthropic's thinking that is hidden altogether",
    body: promptOf("Go.", { model: anthropicThinking, reasoning_effort: "high" }),
    answer: answersWith(redactedThinking("it"), textBlock("Well.")),
    finish: "stop",
    members: ["reasoning_details"]
  },
  {
    name: "Anthropic's refusal",
    body: promptOf("Go.", { model: anthropic }),
    answer: Fake.answers("No.", { finishReason: "refusal" }),
    finish: "content_filter"
  }
]

const brokenStreams: ReadonlyArray<Case> = all.map((model) => ({
  name: `a broken stream of ${model}`,
  body: promptOf("[fault:length 30] [fault:cut after=5] Go.", { model }),
  finish: "error"
}))

onEmbedded.sandbox("By OpenAI's schemas and our own document,", (it) => {
  for (const testCase of sandboxCases)
    it.effect(`${testCase.name} is valid, plain and streamed`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const declared = yield* published
        assertPlain(declared, testCase, (yield* gateway.chat(testCase.body)).text)
        assertStream(declared, testCase, (yield* gateway.chat({ ...testCase.body, stream: true })).text)
      })
    )

  for (const testCase of brokenStreams)
    it.effect(`${testCase.name} is valid`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        assertStream(yield* published, testCase, (yield* gateway.chat({ ...testCase.body, stream: true })).text)
      })
    )
})

onEmbedded.fakeProvider("By OpenAI's schemas and our own document, from a provider,", (it) => {
  for (const testCase of fakeProviderCases)
    it.effect(`${testCase.name} is valid, plain and streamed`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const declared = yield* published
        if (testCase.answer !== undefined) provider.script(testCase.answer)
        assertPlain(declared, testCase, (yield* gateway.chat(testCase.body)).text)
        assertStream(declared, testCase, (yield* gateway.chat({ ...testCase.body, stream: true })).text)
      })
    )
})
