import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Stream } from "effect"

import { type ChatProtocolName, chatProtocolNames } from "../../src/catalog/Model.ts"
import { fold } from "../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../src/domain/Conversation.ts"
import { endpointId, modelId, providerId } from "../../src/domain/Ids.ts"
import { promptTokens } from "../../src/domain/Usage.ts"
import { Dispatch } from "../../src/providers/dispatch/Dispatch.ts"
import type { Target } from "../../src/providers/dispatch/Target.ts"
import { held, request, targetOf } from "../providers/dispatch/FakeTargets.ts"
import { streamOfEvents } from "../support/Packets.ts"
import * as SandboxDispatch from "./SandboxDispatch.ts"

const auths = {
  "openai-chat": "bearer",
  "openai-responses": "bearer",
  "anthropic-messages": "x-api-key",
  gemini: "x-goog-api-key",
  "bedrock-converse": "aws-sigv4"
} as const

/** A provider with the name `<protocol>:<anything>` uses that protocol. */
const testLayer = SandboxDispatch.layerOf((name) => {
  const protocol = chatProtocolNames.find((known) => name.startsWith(known))
  return protocol && { protocol, dialect: "generic", auth: auths[protocol] }
})

/** Every test has an endpoint of its own, so that no circuit breaker is shared between tests. */
const at = (protocol: ChatProtocolName, name: string): Target => {
  const { model, endpoint } = targetOf(name)
  return {
    model: {
      ...model,
      id: modelId(name),
      kind: "chat",
      // Which parameters Bedrock accepts depends on the model's vendor.
      ownedBy: "anthropic",
      modalities: { image: true, audio: true },
      reasoning: { support: "optional", efforts: ["low", "high"], budgetTokens: { min: 1_024, max: 8_000 } }
    },
    endpoint: {
      ...endpoint,
      id: endpointId(`${protocol}:${name}`),
      provider: providerId(`${protocol}:${name}`),
      protocol,
      maxOutputTokens: 8_000
    }
  }
}

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

const requestOf = (text: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
  ...request,
  messages: [user(text)],
  ...more
})

const complete = (target: Target, chat: ChatRequest, ...others: ReadonlyArray<Target>) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.complete({ held, request: chat, targets: [target, ...others] })).pipe(
    Effect.map((answer) => ({ ...answer, value: fold(answer.value) }))
  )

const streamed = (target: Target, chat: ChatRequest) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.open({ held, request: chat, targets: [target] })).pipe(
    Effect.flatMap(({ value }) => Stream.runCollect(streamOfEvents(value))),
    Effect.map(fold),
    Effect.scoped
  )

const weather = { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } }
const clock = { name: "get_time", parameters: { type: "object", properties: {} } }

for (const protocol of chatProtocolNames) {
  describe(`The sandbox over ${protocol}`, () => {
    layer(testLayer, { excludeTestServices: true })((it) => {
      it.effect("gives the same answer and usage, plain and streamed", () =>
        Effect.gen(function* () {
          const target = at(protocol, "same")
          const chat = requestOf("How are you?", { reasoning: { effort: "high", exclude: false } })
          const plain = (yield* complete(target, chat)).value
          assert.deepStrictEqual(
            { ...(yield* streamed(target, chat)), reasoningDetails: [] },
            { ...plain, reasoningDetails: [] }
          )
          assert.include(plain.content, "How are you?")
          assert.isAbove(plain.reasoning.length, 0)
          assert.isAbove(plain.usage?.reasoning ?? 0, -1)
          assert.isAbove(promptTokens(plain.usage ?? assert.fail("no usage")), 0)
        })
      )

      it.effect("calls the tools that the message names, several at once, and answers with their results", () =>
        Effect.gen(function* () {
          const target = at(protocol, "tools")
          const first = requestOf("[call:get_weather,get_time]", { tools: [weather, clock] })
          const { value } = yield* complete(target, first)
          assert.strictEqual(value.finishReason, "tool_calls")
          assert.deepStrictEqual(
            value.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)]),
            [
              ["get_weather", { city: "sandbox" }],
              ["get_time", {}]
            ]
          )
          assert.deepStrictEqual((yield* streamed(target, first)).toolCalls, value.toolCalls)
          const messages: ReadonlyArray<Message> = [
            ...first.messages,
            { role: "assistant", content: [], toolCalls: value.toolCalls, reasoningDetails: [] },
            ...value.toolCalls.map(({ id }): Message => ({
              role: "tool",
              toolCallId: id,
              content: [{ type: "text", text: "12 degrees" }]
            }))
          ]
          const last = yield* complete(target, { ...first, messages })
          assert.include(last.value.content, "12 degrees")
        })
      )

      it.effect("respects a forced tool, stop sequences, output limits and JSON schemas", () =>
        Effect.gen(function* () {
          const target = at(protocol, "rules")
          const forced = requestOf("hello", { tools: [clock, weather], toolChoice: { name: "get_weather" } })
          assert.strictEqual((yield* complete(target, forced)).value.toolCalls[0]?.name, "get_weather")
          const stopped = yield* complete(target, requestOf("hello", { stop: ["sandbox"] }))
          assert.deepStrictEqual([stopped.value.content, stopped.value.finishReason], ["This is the ", "stop"])
          const cut = yield* complete(target, requestOf("[fault:length 500]", { maxOutputTokens: 20 }))
          assert.deepStrictEqual([cut.value.finishReason, cut.value.usage?.output], ["length", 20])
          const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
          const shaped = requestOf("hello", {
            responseFormat: { type: "json_schema", name: "x", strict: true, schema }
          })
          assert.deepStrictEqual(JSON.parse((yield* complete(target, shaped)).value.content), { n: 1 })
        })
      )

      it.effect("fails at the first endpoint alone with `first`, every time", () =>
        Effect.gen(function* () {
          for (let round = 0; round < 2; round++) {
            const chat = requestOf("[fault:500 first] hello")
            const answer = yield* complete(at(protocol, "one"), chat, at(protocol, "two"))
            assert.deepStrictEqual(
              answer.attempts.map(({ model, outcome }) => [model, outcome]),
              [
                ["one", "Transient"],
                ["two", "answered"]
              ]
            )
          }
        })
      )

      it.effect("fails once with `once`, and at one model with `on`", () =>
        Effect.gen(function* () {
          const target = at(protocol, "marked")
          const once = complete(target, requestOf("[fault:500 once] hello"))
          assert.strictEqual((yield* Effect.flip(once)).last.status, 500)
          assert.strictEqual((yield* once).value.finishReason, "stop")
          yield* complete(target, requestOf("[fault:500 on=other]"))
          yield* Effect.flip(complete(target, requestOf("[fault:500 on=vendor/marked]")))
        })
      )

      const faults: ReadonlyArray<readonly [string, object]> = [
        ["429 retry-after=9", { _tag: "Transient", kind: "rate_limited", retryAfter: Duration.seconds(9) }],
        ["500", { _tag: "Transient", kind: "server" }],
        ["401", { _tag: "Credentials" }],
        ["overloaded", { _tag: "Transient", kind: "overloaded" }],
        ["quota", { _tag: "Credentials" }],
        ["context", { _tag: "ContextTooLong" }],
        ["html", { _tag: "Transient", kind: "broken" }],
        ["truncated-json", { _tag: "Transient", kind: "broken" }],
        ["error-in-200", { _tag: "Transient", kind: "overloaded" }]
      ]
      for (const [fault, reason] of faults) {
        it.effect(`produces the failure of [fault:${fault}], plain and streamed`, () =>
          Effect.gen(function* () {
            const chat = requestOf(`[fault:${fault}] hello`)
            const plain = yield* Effect.flip(complete(at(protocol, `plain ${fault}`), chat))
            assert.deepStrictEqual<unknown>(plain.last.reason, reason)
            const stream = yield* Effect.flip(streamed(at(protocol, `stream ${fault}`), chat))
            assert.strictEqual(stream._tag, "Exhausted")
            if (stream._tag === "Exhausted") assert.deepStrictEqual<unknown>(stream.last.reason, reason)
          })
        )
      }

      it.effect("refuses content, answers without content, or drops the connection on demand", () =>
        Effect.gen(function* () {
          const target = at(protocol, "rest")
          const refused = yield* complete(target, requestOf("[fault:refused] hello"))
          assert.strictEqual(refused.value.finishReason, "content_filter")
          const empty = yield* complete(target, requestOf("[fault:empty] hello"))
          assert.deepStrictEqual([empty.value.content, empty.value.finishReason], ["", "stop"])
          yield* Effect.flip(complete(target, requestOf("[fault:cut after=3] hello")))
          const cut = yield* Effect.flip(streamed(target, requestOf("[fault:cut after=3] hello")))
          assert.strictEqual(cut._tag, "Failure")
        })
      )
    })
  })
}

layer(testLayer, { excludeTestServices: true })("The sandbox as an Anthropic server", (it) => {
  const target = at("anthropic-messages", "claude")

  it.effect("counts a marked prefix as written to the cache, then as read from it", () =>
    Effect.gen(function* () {
      const part = { type: "text", text: "long ".repeat(400), cacheControl: { ttl: "1h" } } as const
      const chat = requestOf("hello", { messages: [{ role: "system", content: [part] }, user("hello")] })
      const first = (yield* complete(target, chat)).value.usage ?? assert.fail("no usage")
      const second = (yield* complete(target, chat)).value.usage ?? assert.fail("no usage")
      assert.isAbove(first.cacheWrite1h, 400)
      assert.deepStrictEqual([first.cacheRead, second.cacheRead, second.cacheWrite1h], [0, first.cacheWrite1h, 0])
      assert.strictEqual(promptTokens(first), promptTokens(second))
    })
  )

  it.effect("accepts its own thinking in a tool loop, and refuses it when changed", () =>
    Effect.gen(function* () {
      const first = requestOf("[call:get_time]", { tools: [clock], reasoning: { maxTokens: 2_000, exclude: false } })
      const { value } = yield* complete(target, first)
      assert.isAbove(value.reasoningDetails.length, 0)
      const turn = (details: typeof value.reasoningDetails): ChatRequest => ({
        ...first,
        messages: [
          ...first.messages,
          { role: "assistant", content: [], toolCalls: value.toolCalls, reasoningDetails: details },
          { role: "tool", toolCallId: value.toolCalls[0]?.id ?? "", content: [{ type: "text", text: "noon" }] }
        ]
      })
      assert.include((yield* complete(target, turn(value.reasoningDetails))).value.content, "noon")
      const forged = value.reasoningDetails.map((detail) => ({ ...detail, signature: "sandbox-forged" }))
      const error = yield* Effect.flip(complete(target, turn(forged)))
      assert.include(error.last.message, "signature")
    })
  )
})
