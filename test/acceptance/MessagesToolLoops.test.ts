/**
 * Conversations through Anthropic's package in which a model reasons, calls tools and goes on from its own reasoning.
 * The simulated provider signs its reasoning and refuses it when it comes back changed, whatever protocol it speaks.
 */
import Anthropic from "@anthropic-ai/sdk"
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { chatProtocolNames } from "../../src/catalog/Model.ts"
import { detailsIn, signatureOf } from "../../src/http/messages/ThinkingSignatures.ts"
import { at, type Json } from "../support/Chat.ts"
import { protocolModels, reasoningModelsOf } from "../support/ProtocolModels.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"

type Message = Anthropic.MessageParam

const tools: Array<Anthropic.Tool> = ["get_weather", "get_time"].map((name) => ({
  name,
  input_schema: { type: "object", properties: { city: { type: "string" } } }
}))

const question: Message = {
  role: "user",
  content: "[call:get_weather,get_time] What is the weather in Lima, and how late is it?"
}

const toolUses = ({ content }: Anthropic.Message) => content.filter((block) => block.type === "tool_use")

/** One turn: sends the messages, and asserts that exactly these tools are called. */
const turn = Effect.fnUntraced(function* (
  model: string,
  messages: ReadonlyArray<Message>,
  calls: ReadonlyArray<string>,
  stream: boolean
) {
  const { key, url } = yield* TestGateway
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const body: Anthropic.MessageCreateParamsNonStreaming = {
    model,
    messages: [...messages],
    tools,
    max_tokens: 20_000,
    thinking: { type: "enabled", budget_tokens: 8_000 }
  }
  const answer = yield* Effect.promise(() =>
    stream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
  )
  assert.deepStrictEqual(
    toolUses(answer).map(({ name }) => name),
    [...calls],
    `the calls of ${model}`
  )
  assert.strictEqual(answer.stop_reason, calls.length > 0 ? "tool_use" : "end_turn", model)
  return answer
})

const back = (answer: Anthropic.Message): Message => ({ role: "assistant", content: answer.content })

const results = (answer: Anthropic.Message, ...texts: ReadonlyArray<string>): Message => ({
  role: "user",
  content: toolUses(answer).map(({ id }, index) => ({
    type: "tool_result",
    tool_use_id: id,
    content: texts[index] ?? ""
  }))
})

/** The first two turns: two parallel calls, then another one that the results ask for. */
const firstTurns = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const first = yield* turn(model, [question], ["get_weather", "get_time"], stream)
  const messages = [question, back(first), results(first, "12 degrees", "Noon. [call:get_weather]")]
  const second = yield* turn(model, messages, ["get_weather"], stream)
  return [...messages, back(second), results(second, "Still 12 degrees.")]
})

const assertAnswer = (answer: Anthropic.Message, model: string) =>
  assert.include(JSON.stringify(answer.content), "Still 12 degrees.", `the answer of ${model}`)

const firstOf = (protocol: (typeof chatProtocolNames)[number]) => String(reasoningModelsOf(protocol)[0]?.id)

/** A text of the same length and alphabet. */
const altered = (text: unknown): string => (String(text).startsWith("x") ? "y" : "x") + String(text).slice(1)

const alteredDetail = (detail: Json): Json => ({
  ...detail,
  ...(detail["data"] !== undefined && { data: altered(detail["data"]) }),
  ...(detail["signature"] !== undefined && { signature: altered(detail["signature"]) })
})

/** The same messages with one letter of everything that the model sealed changed, inside of what the gateway made. */
const forged = (messages: ReadonlyArray<Message>): ReadonlyArray<unknown> =>
  messages.map(({ content, role }) => ({
    role,
    content:
      typeof content === "string"
        ? content
        : content.map((block) => {
            if (block.type === "redacted_thinking")
              return { ...block, data: signatureOf((detailsIn(block.data) ?? []).map(alteredDetail)) }
            if (block.type !== "thinking") return block
            const details = detailsIn(block.signature, block.thinking) ?? []
            return { ...block, signature: signatureOf(details.map(alteredDetail), block.thinking) }
          })
  }))

describeGateway(
  "A tool loop over Messages",
  (it) => {
    for (const protocol of chatProtocolNames)
      for (const stream of [false, true])
        it.effect(
          `of three turns ends in an answer, ${stream ? "streamed" : "plain"} ` +
            `[${protocol}: tools, parallel tools, reasoning round trip]`,
          () =>
            Effect.gen(function* () {
              for (const { id } of reasoningModelsOf(protocol).slice(0, 6)) {
                const messages = yield* firstTurns(id, stream)
                const types = messages.flatMap(({ content }) =>
                  typeof content === "string" ? [] : content.map(({ type }) => type)
                )
                assert.isTrue(types.includes("thinking") || types.includes("redacted_thinking"), id)
                assertAnswer(yield* turn(id, messages, [], stream), id)
              }
            })
        )

    for (const protocol of ["anthropic-messages", "openai-responses", "gemini", "bedrock-converse"] as const)
      it.effect(`sends the provider its own reasoning [${protocol}: reasoning round trip]`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const model = firstOf(protocol)
          const messages = forged(yield* firstTurns(model, true))
          const body = {
            model,
            messages,
            tools,
            max_tokens: 20_000,
            thinking: { type: "enabled", budget_tokens: 8_000 }
          }
          const reply = yield* gateway.request("POST", "/v1/messages", body)
          // Only a provider that received the changed blocks can refuse them.
          assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], reply.text)
          assert.match(String(reply.at("error.message")), /signature|reasoning|thought/i)
        })
      )

    for (const from of chatProtocolNames)
      it.effect(`that begins with ${from} continues with a model of every other protocol`, () =>
        Effect.gen(function* () {
          const messages = yield* firstTurns(firstOf(from), true)
          for (const { id } of chatProtocolNames.flatMap((to) => reasoningModelsOf(to).slice(0, 2)))
            assertAnswer(yield* turn(id, messages, [], true), id)
        })
      )

    it.effect("drops a damaged signature, and names it", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const model = firstOf("anthropic-messages")
        const content = [
          { type: "thinking", thinking: "Hm.", signature: "tg1.not-json" },
          { type: "text", text: "Hello." }
        ]
        const messages = [
          { role: "assistant", content },
          { role: "user", content: "And now?" }
        ]
        const reply = yield* gateway.request("POST", "/v1/messages", { model, messages, max_tokens: 5_000 })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.include(String(reply.headers.get("x-svc-adjusted")), "thinking.signature=omitted")
        assert.isNumber(at(JSON.parse(reply.text), "usage", "cost"))
      })
    )
  },
  protocolModels()
)
