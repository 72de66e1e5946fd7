/** Every kind of chat answer is one of OpenAI's with our additions, and is what `/openapi.json` says of it. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { blocks, call, hidden, said, thought } from "../clients/AnthropicBlocks.ts"
import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { at, chunksOf, type Json, timeTool, user, weatherTool } from "../support/Chat.ts"
import * as Scripted from "../support/ScriptedProvider.ts"
import { ScriptedProvider } from "../support/ScriptedProvider.ts"
import { TestGateway } from "../support/TestGateway.ts"
import * as Theirs from "./OpenAiShapes.ts"
import * as Ours from "./OurShapes.ts"
import { assertShape, type Declared, published } from "./PublishedDocument.ts"

const path = "/v1/chat/completions"

interface Case {
  readonly of: string
  readonly body: Json
  readonly answer?: Scripted.Behaviour
  readonly finish: string
  /** The members of the message beside those of every message: what makes the case the case it is. */
  readonly members?: ReadonlyArray<string>
}

const ofEveryMessage = ["role", "content", "refusal"]

const assertPlain = (declared: Declared, { finish, members = [], of }: Case, text: string) => {
  const answer: Json = JSON.parse(text)
  assertShape(Theirs.completion, answer, of)
  assertShape(Ours.completion, answer, of)
  declared("post", path, 200, "application/json", answer, of)
  const message = at(answer, "choices", 0, "message") as Json
  assert.strictEqual(at(answer, "choices", 0, "finish_reason"), finish, of)
  assert.sameMembers(Object.keys(message), [...ofEveryMessage, ...members], of)
}

const assertStream = (declared: Declared, { finish, members = [], of }: Case, text: string) => {
  const chunks = chunksOf(text)
  const isBroken = finish === "error"
  const { broken, first, last, middle } = Ours.chunks
  for (const [index, chunk] of chunks.entries()) {
    const about = `${of}, chunk ${index}`
    const isLast = index === chunks.length - 1
    if (!(isLast && isBroken)) assertShape(Theirs.chunk, chunk, about)
    assertShape(index === 0 ? first : !isLast ? middle : isBroken ? broken : last, chunk, about)
    // What is not named is a message, says the standard of server-sent events.
    declared("post", path, 200, "text/event-stream", { event: "message", data: chunk }, about)
  }
  const choices = chunks.map((chunk) => at(chunk, "choices", 0))
  const reasons = choices.map((choice) => at(choice, "finish_reason")).filter((reason) => typeof reason === "string")
  assert.deepStrictEqual(reasons, [finish], of)
  const seen = new Set(choices.flatMap((choice) => Object.keys((at(choice, "delta") as Json | undefined) ?? {})))
  for (const member of members) assert.isTrue(seen.has(member), `${of}: ${member} in ${[...seen].join()}`)
  for (const member of seen)
    assert.include([...ofEveryMessage, ...members], member, `${of}: a delta with a member that was not expected`)
}

/** As much of an image as nobody looks at. */
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
const asking = (content: string, more: Json = {}): Json => ({ messages: [user(content)], ...more })
const tools = [weatherTool, timeTool]
const reasons = ["reasoning", "reasoning_details"]

/** One per wire protocol. */
const [openai, anthropic, gemini, responses] = ["gpt-4o-mini", "claude-sonnet-5", "gemini-2.5-flash", "gpt-5.2"]
const all = [openai, anthropic, gemini, responses]
/** Its thinking is there when it is asked for, and not otherwise. */
const anthropicThinking = "claude-sonnet-4-6"
const thinking = [anthropicThinking, gemini, responses]
const hiding = asking("Hello", { reasoning: { effort: "high", exclude: true } })

/** The same of each of these models. */
const each = (models: ReadonlyArray<string>, of: string, body: Json, rest: Pick<Case, "finish" | "members">) =>
  models.map((model): Case => ({ of: `${of} of ${model}`, body: { model, ...body }, ...rest }))

const calls = (of: string, prompt: string) =>
  all.flatMap((model) =>
    each([model], of, asking(prompt, { tools }), {
      finish: "tool_calls",
      // Gemini signs its calls, and wants the signatures back.
      members: ["tool_calls", ...(model === gemini ? ["reasoning_details"] : [])]
    })
  )

const image = { type: "image_url", image_url: { url: pixel } }
const audio = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }

/** What the sandbox plays in every protocol it speaks. */
const played: ReadonlyArray<Case> = [
  { of: "routed text", body: asking("Hello", { reasoning_effort: "none" }), finish: "stop" },
  ...each(all, "text", asking("Hello"), { finish: "stop" }),
  ...calls("a tool call", "[call:get_weather] Go."),
  ...calls("parallel tool calls", "[call:get_weather,get_time] Go."),
  ...each(thinking, "reasoning", asking("Hello", { reasoning_effort: "high" }), { finish: "stop", members: reasons }),
  ...each([anthropicThinking, gemini], "hidden reasoning", hiding, { finish: "stop" }),
  // OpenAI's is encrypted: nothing of it is shown, and it is needed in the next turn.
  ...each([responses], "hidden reasoning", hiding, { finish: "stop", members: ["reasoning_details"] }),
  ...each(all, "a cut text", asking("[fault:length 50] Go.", { max_tokens: 20 }), { finish: "length" }),
  ...each(all, "filtered content", asking("[fault:refused] Go."), { finish: "content_filter" }),
  ...each(all, "an object of a schema", asking("Oslo?", { response_format: reportFormat }), { finish: "stop" }),
  ...each(all, "an image", { messages: [{ role: "user", content: [said("What is it?"), image] }] }, { finish: "stop" }),
  ...each(
    ["gpt-audio-mini", gemini],
    "audio",
    { messages: [{ role: "user", content: [said("What is said?"), audio] }] },
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

/** What only a provider can say. */
const scripted: ReadonlyArray<Case> = [
  {
    of: "OpenAI's refusal",
    body: asking("Go.", { model: openai }),
    answer: Scripted.answers("", { message: { content: null, refusal: "I will not." } }),
    finish: "stop"
  },
  {
    of: "OpenAI's text beside parallel tool calls",
    body: asking("Go.", { model: openai, tools }),
    answer: Scripted.answers("Wait.", { message: toolCalls("get_time", "get_weather"), finishReason: "tool_calls" }),
    finish: "tool_calls",
    members: ["tool_calls"]
  },
  {
    of: "OpenAI's filter",
    body: asking("Go.", { model: openai }),
    answer: Scripted.answers("I", { finishReason: "content_filter" }),
    finish: "content_filter"
  },
  {
    of: "an answer without usage",
    body: asking("Go.", { model: openai }),
    answer: Scripted.answers("one two", { usage: {} }),
    finish: "stop"
  },
  {
    of: "Anthropic's thinking, text and tool calls",
    body: asking("Go.", { model: anthropicThinking, tools, reasoning_effort: "high" }),
    answer: blocks(thought("it"), hidden("it"), said("Wait."), call("get_time"), call("get_weather", "toolu_2")),
    finish: "tool_calls",
    members: [...reasons, "tool_calls"]
  },
  {
    of: "Anthropic's thinking that is hidden altogether",
    body: asking("Go.", { model: anthropicThinking, reasoning_effort: "high" }),
    answer: blocks(hidden("it"), said("Well.")),
    finish: "stop",
    members: ["reasoning_details"]
  },
  {
    of: "Anthropic's refusal",
    body: asking("Go.", { model: anthropic }),
    answer: Scripted.answers("No.", { finishReason: "refusal" }),
    finish: "content_filter"
  }
]

const broken: ReadonlyArray<Case> = all.map((model) => ({
  of: `a broken stream of ${model}`,
  body: asking("[fault:length 30] [fault:cut after=5] Go.", { model }),
  finish: "error"
}))

onEmbedded.sandbox("By OpenAI's schemas and our own document", (it) => {
  for (const one of played)
    it.effect(`${one.of} is valid, plain and streamed`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const declared = yield* published
        assertPlain(declared, one, (yield* gateway.chat(one.body)).text)
        assertStream(declared, one, (yield* gateway.chat({ ...one.body, stream: true })).text)
      })
    )

  for (const one of broken)
    it.effect(`${one.of} is valid`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        assertStream(yield* published, one, (yield* gateway.chat({ ...one.body, stream: true })).text)
      })
    )
})

onEmbedded.scripted("By OpenAI's schemas and our own document, from a provider,", (it) => {
  for (const one of scripted)
    it.effect(`${one.of} is valid, plain and streamed`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* ScriptedProvider
        const declared = yield* published
        if (one.answer !== undefined) yield* provider.script(one.answer)
        assertPlain(declared, one, (yield* gateway.chat(one.body)).text)
        assertStream(declared, one, (yield* gateway.chat({ ...one.body, stream: true })).text)
      })
    )
})
