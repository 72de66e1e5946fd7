/**
 * Conversations in which a model reasons, calls tools, reasons about the results and calls again. The simulated
 * provider signs its reasoning as the real ones do, and refuses reasoning whose signature is wrong: a gateway that
 * reorders, loses or changes reasoning fails here.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type OpenAI from "openai"

import { chatProtocolNames } from "../../src/catalog/Model.ts"
import { at, type Json, timeTool, user, weatherTool } from "../support/Chat.ts"
import { protocolModels, reasoningModelsOf } from "../support/ProtocolModels.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"

interface Answer {
  /** The message as the client sends it back. */
  readonly message: Json
  readonly calls: ReadonlyArray<Json>
  readonly details: ReadonlyArray<Json>
  readonly finish: unknown
}

const question = user("[call:get_weather,get_time] What is the weather in Lima, and how late is it?")

const bodyOf = (model: string, messages: ReadonlyArray<Json>) =>
  // The types of the SDK do not have `reasoning_details`; the SDK sends them all the same.
  ({ model, messages, tools: [weatherTool, timeTool], reasoning_effort: "high" }) as unknown as Omit<
    OpenAI.ChatCompletionCreateParamsNonStreaming,
    "stream"
  >

const answerOf = (message: Json, finish: unknown): Answer => ({
  message,
  calls: (message["tool_calls"] ?? []) as ReadonlyArray<Json>,
  details: (message["reasoning_details"] ?? []) as ReadonlyArray<Json>,
  finish
})

/** Members that are streamed in chunks and concatenated; of all others, the last chunk counts. */
const concatenated = ["text", "summary", "arguments"]
/** An item and its next chunk, joined as clients do it. */
const joined = (item: Json, chunk: Json): Json => {
  const members = Object.entries(chunk).map(([key, value]) => {
    const before = item[key]
    if (typeof before === "object" && before !== null) return [key, joined(before as Json, value as Json)]
    return [key, concatenated.includes(key) && typeof before === "string" ? before + String(value) : (value ?? before)]
  })
  return { ...item, ...Object.fromEntries(members) }
}

const byIndex = (chunks: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const items = new Map<unknown, Json>()
  for (const chunk of chunks) items.set(chunk["index"], joined(items.get(chunk["index"]) ?? {}, chunk))
  return [...items.values()]
}

const streamed = async (openai: OpenAI, body: ReturnType<typeof bodyOf>): Promise<Answer> => {
  const [text, calls, details, finish]: [Array<unknown>, Array<Json>, Array<Json>, Array<unknown>] = [[], [], [], []]
  for await (const chunk of await openai.chat.completions.create({ ...body, stream: true })) {
    const delta = (at(chunk, "choices", 0, "delta") ?? {}) as Json
    text.push(delta["content"] ?? "")
    calls.push(...((delta["tool_calls"] ?? []) as ReadonlyArray<Json>))
    details.push(...((delta["reasoning_details"] ?? []) as ReadonlyArray<Json>))
    finish.push(at(chunk, "choices", 0, "finish_reason") ?? [])
  }
  const tool_calls = byIndex(calls).map(({ function: called, id, type }) => ({ id, type, function: called }))
  const members = { content: text.join("") || null, ...(tool_calls.length > 0 && { tool_calls }) }
  return answerOf({ role: "assistant", ...members, reasoning_details: byIndex(details) }, finish.flat().at(-1))
}

const plain = async (openai: OpenAI, body: ReturnType<typeof bodyOf>): Promise<Answer> => {
  const answer = await openai.chat.completions.create(body)
  const message = (at(answer, "choices", 0, "message") ?? {}) as Json
  return answerOf(message, at(answer, "choices", 0, "finish_reason"))
}

/** One turn: sends the messages, and asserts that exactly these tools are called. */
const turn = Effect.fnUntraced(function* (
  model: string,
  messages: ReadonlyArray<Json>,
  calls: ReadonlyArray<string>,
  stream: boolean
) {
  const { openai } = yield* TestGateway
  const answer = yield* Effect.promise(() => (stream ? streamed : plain)(openai, bodyOf(model, messages)))
  const called = answer.calls.map((call) => at(call, "function", "name"))
  assert.deepStrictEqual(called, [...calls], `the calls of ${model}`)
  assert.strictEqual(answer.finish, calls.length > 0 ? "tool_calls" : "stop", model)
  assert.strictEqual(new Set(answer.calls.map(({ id }) => id)).size, calls.length)
  for (const call of answer.calls) assert.doesNotThrow(() => JSON.parse(String(at(call, "function", "arguments"))))
  return answer
})

const result = (call: Json | undefined, content: string): Json => ({
  role: "tool",
  tool_call_id: call?.["id"],
  content
})

/** The first two turns: two parallel calls, then another one that the results ask for. */
const firstTurns = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const first = yield* turn(model, [question], ["get_weather", "get_time"], stream)
  const results = [result(first.calls[0], "12 degrees"), result(first.calls[1], "Noon. [call:get_weather]")]
  const messages = [question, first.message, ...results]
  const second = yield* turn(model, messages, ["get_weather"], stream)
  return { first, second, messages: [...messages, second.message, result(second.calls[0], "Still 12 degrees.")] }
})

const assertAnswer = ({ message }: Answer, model: string) =>
  assert.include(String(message["content"]), "Still 12 degrees.", `the answer of ${model}`)

/**
 * The same conversation with one letter of everything that the model sealed changed, and of the text where nothing else
 * is sealed: a signature beside another text than it was made for is not even sent.
 */
const forged = (messages: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  messages.map((message) => {
    const details = message["reasoning_details"] as ReadonlyArray<Json> | undefined
    return details === undefined
      ? message
      : { ...message, reasoning: undefined, reasoning_details: details.map(forgedDetail) }
  })

const forgedDetail = (detail: Json): Json => ({
  ...detail,
  ...Object.fromEntries(
    ["summary", "data", detail["signature"] === undefined ? "text" : "signature"].flatMap((key) =>
      detail[key] ? [[key, altered(String(detail[key]))]] : []
    )
  )
})

/** A text of the same length and alphabet, because what does not look like a signature is not sent at all. */
const altered = (text: string): string => (text.startsWith("x") ? "y" : "x") + text.slice(1)

const firstOf = (protocol: (typeof chatProtocolNames)[number]) => String(reasoningModelsOf(protocol)[0]?.id)

describeGateway(
  "A tool loop",
  (it) => {
    for (const protocol of chatProtocolNames)
      for (const stream of [false, true])
        it.effect(
          `of three turns ends in an answer, with every model, ${stream ? "streamed" : "plain"} ` +
            `[${protocol}: tools, parallel tools, reasoning round trip]`,
          () =>
            Effect.gen(function* () {
              assert.isNotEmpty(reasoningModelsOf(protocol))
              for (const { id } of reasoningModelsOf(protocol)) {
                const { first, messages, second } = yield* firstTurns(id, stream)
                for (const { details } of [first, second]) assert.isNotEmpty(details, `the reasoning of ${id}`)
                assertAnswer(yield* turn(id, messages, [], stream), id)
              }
            })
        )

    for (const protocol of chatProtocolNames)
      for (const stream of [false, true])
        it.effect(
          `sends the provider its own reasoning unchanged, ${stream ? "streamed" : "plain"} ` +
            `[${protocol}: reasoning round trip]`,
          () =>
            Effect.gen(function* () {
              const gateway = yield* TestGateway
              const model = firstOf(protocol)
              const { messages } = yield* firstTurns(model, stream)
              const reply = yield* gateway.chat({ ...bodyOf(model, forged(messages)), stream })
              // Only a provider that received the changed blocks can refuse them.
              assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], reply.text)
              assert.match(String(reply.at("error.message")), /signature|reasoning|thought/i)
            })
        )

    for (const from of chatProtocolNames)
      for (const to of chatProtocolNames)
        it.effect(
          `that begins with ${from} continues with another model over ${to} [${to}: reasoning round trip]`,
          () =>
            Effect.gen(function* () {
              const { messages } = yield* firstTurns(firstOf(from), true)
              const others = reasoningModelsOf(to).filter(({ id }) => id !== firstOf(from))
              for (const { id } of others.slice(0, 2)) {
                assertAnswer(yield* turn(id, messages, [], false), id)
                assertAnswer(yield* turn(id, messages, [], true), id)
              }
            })
        )

    it.effect("can change models at every turn and return to the first", () =>
      Effect.gen(function* () {
        const messages: Array<Json> = [question]
        const models = [...chatProtocolNames, ...chatProtocolNames].map(firstOf)
        for (const [index, model] of models.entries()) {
          const answer = yield* turn(model, messages, index === 0 ? ["get_weather", "get_time"] : ["get_weather"], true)
          const content = index === models.length - 1 ? "Still 12 degrees." : "12 degrees [call:get_weather]"
          messages.push(answer.message, ...answer.calls.map((call) => result(call, content)))
        }
        for (const model of models) assertAnswer(yield* turn(model, messages, [], false), model)
      })
    )
  },
  protocolModels()
)
