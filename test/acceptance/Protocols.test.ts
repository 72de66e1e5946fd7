/**
 * Every capability that a client can use, over every protocol. The name of a test ends with the capabilities that it
 * proves, which the test run prints as a table. A capability that no model behind a protocol has must be refused; it is
 * never weakened silently.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { type Model, chatProtocolNames } from "../../src/catalog/Model.ts"
import { protocols } from "../../src/providers/protocols/Protocols.ts"
import { as, at, chunksOf, type Json, settledBalance, textIn, timeTool, user, weatherTool } from "../support/Chat.ts"
import { modelsOf, protocolModels } from "../support/ProtocolModels.ts"
import { describeGateway, TestGateway, usd } from "../support/TestGateway.ts"

const image = (url: string) => ({
  role: "user",
  content: [
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url } }
  ]
})
const audio = {
  role: "user",
  content: [
    { type: "text", text: "What is said?" },
    { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }
  ]
}
const schema = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "integer" } },
  required: ["city", "degrees"],
  additionalProperties: false
}

/** The text of a plain answer, which must be the same as that of a stream. */
const ask = Effect.fnUntraced(function* (body: Json) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat(body)
  assert.strictEqual(reply.status, 200, reply.text)
  const streamed = yield* gateway.chat({ ...body, stream: true })
  const chunks = chunksOf(streamed.text)
  assert.strictEqual(textIn(chunks), reply.at("choices.0.message.content") ?? "")
  const reasons = chunks.map((chunk) => at(chunk, "choices", 0, "finish_reason")).filter(Boolean)
  assert.deepStrictEqual(reasons, [reply.at("choices.0.finish_reason")])
  return reply
})

/** A request that is refused before any provider is called. */
const assertUnserved = Effect.fnUntraced(function* (body: Json, rule: RegExp) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat(body)
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], reply.text)
  assert.match(String(reply.at("error.message")), rule)
})

const idOf = (model: Model | undefined): string => model?.id ?? assert.fail("no model of the protocol can do this")

describeGateway(
  "Every protocol",
  (it) => {
    for (const protocol of chatProtocolNames) {
      const models = modelsOf(protocol)
      const model = idOf(models[0])
      const hearing = models.find(({ modalities }) => modalities.audio)
      const seeing = models.find(({ modalities }) => modalities.image)
      const strict = models.find(({ structuredOutput }) => structuredOutput)
      const forced = models.find(
        ({ forcedToolChoice, reasoning }) => forcedToolChoice && reasoning.support !== "always"
      )
      const unforced = models.find(({ forcedToolChoice, tools }) => tools && !forcedToolChoice)

      it.effect(`answers in text, and in a stream with the same text [${protocol}: text, stream]`, () =>
        Effect.gen(function* () {
          const messages = [{ role: "system", content: "Be kind." }, user("Hello"), user("there")]
          const reply = yield* ask({ model, messages })
          assert.match(String(reply.at("choices.0.message.content")), /^This is the sandbox.*there”\.$/)
        })
      )

      it.effect(`calls a forced tool [${protocol}: forced tool choice]`, () =>
        Effect.gen(function* () {
          const tools = [weatherTool, timeTool]
          const body = { model: idOf(forced), messages: [user("Hello")], tools, reasoning_effort: "none" }
          for (const [tool_choice, name] of [
            ["required", "get_weather"],
            [{ type: "function", function: { name: "get_time" } }, "get_time"]
          ]) {
            const reply = yield* ask({ ...body, tool_choice })
            assert.strictEqual(reply.at("choices.0.message.tool_calls.0.function.name"), name)
          }
          const none = yield* ask({ ...body, tool_choice: "none", messages: [user("[call:get_time] Now?")] })
          assert.notProperty(none.at("choices.0.message"), "tool_calls")
          if (unforced === undefined) return
          yield* assertUnserved({ ...body, model: unforced.id, tool_choice: "required" }, /forced to call a tool/)
        })
      )

      it.effect(`calls one tool at a time on request [${protocol}: parallel tools]`, () =>
        Effect.gen(function* () {
          const tools = [weatherTool, timeTool]
          const messages = [user("[call:get_weather,get_time] Both.")]
          for (const parallel_tool_calls of [true, false]) {
            const reply = yield* ask({ model: idOf(forced), messages, tools, parallel_tool_calls })
            assert.lengthOf(
              reply.at("choices.0.message.tool_calls") as ReadonlyArray<Json>,
              parallel_tool_calls ? 2 : 1
            )
          }
        })
      )

      it.effect(`receives the bytes of an image [${protocol}: image bytes]`, () =>
        Effect.gen(function* () {
          const reply = yield* ask({ model: idOf(seeing), messages: [image("data:image/png;base64,iVBORw0KGgo=")] })
          assert.include(reply.at("choices.0.message.content"), "1 image(s)")
          const blind = models.find(({ modalities }) => !modalities.image)
          if (blind === undefined) return
          yield* assertUnserved({ model: blind.id, messages: [image("https://example.org/a.png")] }, /image input/)
        })
      )

      it.effect(
        protocols[protocol].takesImageUrls
          ? `sees an image by its URL [${protocol}: image URL]`
          : `loads no image from a private address [${protocol}: image URL]`,
        () =>
          Effect.gen(function* () {
            if (protocols[protocol].takesImageUrls) {
              const reply = yield* ask({ model: idOf(seeing), messages: [image("https://example.org/a.png")] })
              assert.include(reply.at("choices.0.message.content"), "1 image(s)")
            } else {
              const { url } = yield* TestGateway
              yield* assertUnserved({ model: idOf(seeing), messages: [image(`${url}/a.png`)] }, /image/i)
            }
          })
      )

      it.effect(`${hearing ? "receives a recording" : "is not sent a recording"} [${protocol}: audio]`, () =>
        Effect.gen(function* () {
          if (hearing === undefined) yield* assertUnserved({ model, messages: [audio] }, /audio input/)
          else {
            const reply = yield* ask({ model: hearing.id, messages: [audio] })
            assert.include(reply.at("choices.0.message.content"), "1 audio clip(s)")
          }
        })
      )

      it.effect(`answers in a given JSON schema [${protocol}: json_schema]`, () =>
        Effect.gen(function* () {
          const format = { type: "json_schema", json_schema: { name: "weather", schema, strict: true } }
          if (strict === undefined) {
            return yield* assertUnserved({ model, messages: [user("Lima?")], response_format: format }, /json_schema/)
          }
          const reply = yield* ask({ model: strict.id, messages: [user("Lima?")], response_format: format })
          const answer = JSON.parse(String(reply.at("choices.0.message.content")))
          assert.deepStrictEqual(Object.keys(answer), ["city", "degrees"])
          assert.isString(answer.city)
          assert.isTrue(Number.isInteger(answer.degrees))
          const loose = models.find(({ structuredOutput }) => !structuredOutput)
          if (loose === undefined) return
          yield* assertUnserved({ model: loose.id, messages: [user("Lima?")], response_format: format }, /json_schema/)
        })
      )

      it.effect(`answers in JSON on request [${protocol}: json_object]`, () =>
        Effect.gen(function* () {
          const messages = [user("Lima, as JSON?")]
          const reply = yield* ask({ model, messages, response_format: { type: "json_object" } })
          assert.isObject(JSON.parse(String(reply.at("choices.0.message.content"))))
        })
      )

      it.effect(`ends before a stop sequence [${protocol}: stop]`, () =>
        Effect.gen(function* () {
          const reply = yield* ask({ model, messages: [user("One two three")], stop: [" simulated", "nowhere"] })
          assert.strictEqual(reply.at("choices.0.message.content"), "This is the sandbox, a")
          assert.strictEqual(reply.at("choices.0.finish_reason"), "stop")
        })
      )

      it.effect(`is cut at the output limit [${protocol}: text]`, () =>
        Effect.gen(function* () {
          const messages = [user("[fault:length 200] Go on.")]
          const quiet = models.find(({ reasoning }) => reasoning.support !== "always")
          const body = { model: idOf(quiet), messages, max_completion_tokens: 20, reasoning_effort: "none" }
          const reply = yield* ask(body)
          assert.strictEqual(reply.at("choices.0.finish_reason"), "length")
          assert.strictEqual(reply.at("usage.completion_tokens"), 20)
        })
      )

      const faults = [
        ["400", 400, "invalid_request"],
        ["context", 400, "invalid_request"],
        ["quota", 500, "internal_error"],
        ["overloaded", 500, "internal_error"],
        ["429 retry-after=9", 429, "rate_limit_exceeded"]
      ] as const
      it.effect(`reports errors, and charges nothing for them [${protocol}: errors]`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const tenant = yield* gateway.tenant("1")
          for (const [index, [fault, status, code]] of faults.entries()) {
            // Another model each time, because the circuit breaker of an endpoint that failed may be open.
            const body = { model: models.at(-1 - (index % models.length))?.id, messages: [user(`[fault:${fault}] Hi`)] }
            const reply = yield* gateway.chat(body, as(tenant))
            assert.deepStrictEqual([fault, reply.status, reply.at("error.code")], [fault, status, code], reply.text)
          }
          assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
        })
      )

      it.effect(`reports a refusal of the content [${protocol}: errors]`, () =>
        Effect.gen(function* () {
          const reply = yield* ask({ model, messages: [user("[fault:refused] Hi")] })
          assert.strictEqual(reply.at("choices.0.finish_reason"), "content_filter")
        })
      )
    }
  },
  protocolModels()
)
