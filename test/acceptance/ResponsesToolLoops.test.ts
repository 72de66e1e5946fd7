/**
 * Conversations of several turns over `/v1/responses`, in which the client sends back the items of every answer as
 * they are, as agents do. The simulated providers sign or encrypt their reasoning and refuse it where it was changed,
 * so that reasoning which got lost or out of order on the way shows here, for every protocol of providers.
 */
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import type OpenAI from "openai"

import { chatProtocolNames } from "../../src/catalog/Model.ts"
import { decodedDetails, encodedDetails } from "../../src/http/responses/ReasoningEnvelope.ts"
import { at, type Json, timeTool, weatherTool } from "../support/Chat.ts"
import { protocolModels, reasoningModelsOf } from "../support/ProtocolModels.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"

type Input = ReadonlyArray<Json>

const question: Json = {
  role: "user",
  content: "[call:get_weather,get_time] What is the weather in Lima, and how late is it?"
}

const tools = [weatherTool, timeTool].map(({ function: tool }) => ({
  strict: false,
  ...tool,
  type: "function" as const
}))

const bodyOf = (model: string, input: Input) => ({
  model,
  // The types of the SDK tell every item apart; here they come from answers.
  input: input as unknown as OpenAI.Responses.ResponseInput,
  tools,
  reasoning: { effort: "high", summary: "auto" } as const,
  include: ["reasoning.encrypted_content" as const],
  store: false
})

const itemsOf = (output: ReadonlyArray<unknown>, type: string): Input =>
  (output as Input).filter((item) => item["type"] === type)

/** One turn, with the helper of the SDK where it is streamed. Asserts that exactly these tools are called. */
const turn = Effect.fnUntraced(function* (model: string, input: Input, calls: ReadonlyArray<string>, stream: boolean) {
  const { openai } = yield* TestGateway
  const body = bodyOf(model, input)
  const answer = yield* Effect.promise(() =>
    stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body)
  )
  assert.strictEqual(answer.status, "completed", model)
  const called = itemsOf(answer.output, "function_call")
  assert.deepStrictEqual(
    called.map((call) => call["name"]),
    [...calls],
    `the calls of ${model}`
  )
  for (const call of called) assert.doesNotThrow(() => JSON.parse(String(call["arguments"])))
  return { output: answer.output as unknown as Input, called, text: answer.output_text }
})

const result = (call: Json | undefined, output: string): Json => ({
  type: "function_call_output",
  call_id: call?.["call_id"],
  output
})

/** Two parallel calls, then another one that the results ask for. */
const firstTurns = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const first = yield* turn(model, [question], ["get_weather", "get_time"], stream)
  const results = [result(first.called[0], "12 degrees"), result(first.called[1], "Noon. [call:get_weather]")]
  const input = [question, ...first.output, ...results]
  const second = yield* turn(model, input, ["get_weather"], stream)
  for (const { output } of [first, second]) assert.isNotEmpty(itemsOf(output, "reasoning"), `the reasoning of ${model}`)
  return [...input, ...second.output, result(second.called[0], "Still 12 degrees.")]
})

/** A text of the same length and alphabet, because what does not look like a signature is not sent at all. */
const altered = (text: string): string => (text.startsWith("x") ? "y" : "x") + text.slice(1)

/** The blocks of a reasoning item. */
const blocksOf = (item: Json | undefined) =>
  Result.getOrThrow(decodedDetails([String(item?.["encrypted_content"] ?? "")]))[0] ?? []

/** With one letter changed of everything that the model signed, or of the text where nothing is signed. */
const forgedItem = (item: Json): Json => {
  if (item["type"] !== "reasoning") return item
  const changed = blocksOf(item).map((detail) => {
    const sealed = ["summary", "data", detail["signature"] === undefined ? "text" : "signature"]
    return {
      ...detail,
      ...Object.fromEntries(sealed.flatMap((key) => (detail[key] ? [[key, altered(String(detail[key]))]] : [])))
    }
  })
  return { ...item, content: [], summary: [], encrypted_content: encodedDetails(changed) }
}

const firstOf = (protocol: (typeof chatProtocolNames)[number]) => String(reasoningModelsOf(protocol)[0]?.id)

describeGateway(
  "A tool loop of responses",
  (it) => {
    for (const protocol of chatProtocolNames)
      for (const stream of [false, true]) {
        const how = stream ? "streamed" : "plain"
        it.effect(`ends in an answer over ${protocol}, ${how}`, () =>
          Effect.gen(function* () {
            for (const { id } of reasoningModelsOf(protocol).slice(0, 3)) {
              const { text } = yield* turn(id, yield* firstTurns(id, stream), [], stream)
              assert.include(text, "Still 12 degrees.", `the answer of ${id}`)
            }
          })
        )

        it.effect(`sends the provider its own reasoning over ${protocol}, ${how}`, () =>
          Effect.gen(function* () {
            const gateway = yield* TestGateway
            const model = firstOf(protocol)
            const input = yield* firstTurns(model, stream)
            const body = { ...bodyOf(model, input.map(forgedItem)), stream }
            const reply = yield* gateway.request("POST", "/v1/responses", body)
            // Only a provider that received the changed blocks can refuse them.
            assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], reply.text)
            assert.match(String(reply.at("error.message")), /signature|reasoning|thought/i)
          })
        )
      }

    for (const from of chatProtocolNames)
      it.effect(`that begins with ${from} continues with models of all protocols`, () =>
        Effect.gen(function* () {
          const input = yield* firstTurns(firstOf(from), true)
          for (const to of chatProtocolNames) {
            const { text } = yield* turn(firstOf(to), input, [], true)
            assert.include(text, "Still 12 degrees.", `${from}, then ${to}`)
          }
        })
      )

    it.effect("keeps the very blocks that a chat shows", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const model = firstOf("anthropic-messages")
        const input = yield* firstTurns(model, false)
        const item = itemsOf(input, "reasoning")[0]
        const details = blocksOf(item)
        const chat = yield* gateway.chat({
          model,
          reasoning_effort: "high",
          tools: [weatherTool, timeTool],
          messages: [question]
        })
        const shown = chat.at("choices.0.message.reasoning_details") as Input
        assert.deepStrictEqual(
          details.map((detail) => Object.keys(detail).sort()),
          shown.map((detail) => Object.keys(detail).sort())
        )
        assert.strictEqual(at(details[0], "signature"), at(shown[0], "signature"))
      })
    )
  },
  protocolModels()
)
