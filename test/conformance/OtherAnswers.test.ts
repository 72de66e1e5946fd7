/** All other answers and all errors have OpenAI's shapes where OpenAI has such answers, and match `/openapi.json`. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { errorTable } from "../../src/api/ErrorTable.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { maxFileBytes } from "../../src/http/audio/TranscriptionForm.ts"
import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { as, chunksOf, type Json, receiptOf, user } from "../support/Chat.ts"
import { embed, embeddingPath as vectors } from "../support/EmbeddingRequests.ts"
import { audioPart } from "../support/Multipart.ts"
import { stalledRequest } from "../support/SlowClients.ts"
import { tenantOnSpentBudget } from "../support/SpentBudget.ts"
import { type Reply, TestGateway } from "../support/TestGateway.ts"
import { transcribe, transcribeWith, transcriptionPath as audio } from "../support/TranscriptionForms.ts"
import * as Theirs from "./OpenAiShapes.ts"
import * as Ours from "./OurShapes.ts"
import { assertShape, published } from "./PublishedDocument.ts"

const json = "application/json"
const chat = "/v1/chat/completions"
/** An OpenAPI document cannot declare an answer to a method that a path does not have. */
const undeclared = "method_not_allowed"
const adminKeys = "/admin/v1/admin_keys"
/** The paths that are posted to. */
const posts = new Set([chat, audio, vectors, adminKeys])
const twice = Effect.flatMap(TestGateway, ({ admin }) => admin("POST", adminKeys, { name: "twice" }))
const hello = { model: "gpt-4o-mini", messages: [user("Hello")] }

const prompt = (content: string) => ({ ...hello, messages: [user(content)] })

type Case = readonly [path: string, reply: Effect.Effect<Reply, never, TestGateway>]

/** Requests for embeddings that fail, each in another way. These callers may make none. */
const embeddingCases = (callers: ReadonlyArray<Record<string, string>>): ReadonlyArray<Case> => [
  [vectors, embed({ input: [] })],
  [vectors, embed({ model: "nope", input: "Hi" })],
  [vectors, embed({ input: "Hi", metadata: { call_name: "" } })],
  [vectors, embed({ input: "Hi" }, { "x-end-user-id": " " })],
  ...callers.map((headers): Case => [vectors, embed({ input: "Hi" }, headers)]),
  [vectors, embed(JSON.stringify({ model: "m", input: "x".repeat(33 * 1024 * 1024) }))],
  [vectors, embed({ input: "Hi" }, { "idempotency-key": "once" })],
  [vectors, embed({ input: "Ho" }, { "idempotency-key": "once" })],
  [vectors, stalledRequest(vectors)],
  [vectors, embed({ input: "[fault:429]" })],
  [vectors, embed({ model: "bge-m3", input: "[fault:500]" })]
]

onEmbedded.sandbox("By OpenAI's schemas and our own document, answers other than chat,", (it) => {
  it.effect("list and describe the models validly", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const declared = yield* published
      const list = yield* gateway.request("GET", "/v1/models")
      assertShape(Theirs.modelList, JSON.parse(list.text), "the list")
      declared("get", "/v1/models", 200, json, JSON.parse(list.text), "the list")
      for (const listed of list.at("data") as ReadonlyArray<Json>) {
        const one = yield* gateway.request("GET", `/v1/models/${String(listed["id"])}`)
        const card: unknown = JSON.parse(one.text)
        assert.deepStrictEqual(card, listed)
        assertShape(Theirs.model, card, String(listed["id"]))
        assertShape(Ours.model, card, String(listed["id"]))
        declared("get", "/v1/models/{id}", 200, json, card, String(listed["id"]))
      }
    })
  )

  it.effect("transcribe validly, as JSON and as text, and with valid receipts", () =>
    Effect.gen(function* () {
      const declared = yield* published
      const whole = yield* transcribeWith({ model: "whisper-1" })
      assertShape(Theirs.transcription, JSON.parse(whole.text), "a transcription")
      declared("post", audio, 200, json, JSON.parse(whole.text), "a transcription")
      const text = yield* transcribeWith({ response_format: "text", svc: '{"call_name":"a","end_user_id":"b"}' })
      declared("post", audio, 200, "text/plain", text.text, "a transcript")
      const timed = yield* transcribeWith({ model: "gpt-transcribe" })
      const streamed = yield* transcribeWith({ stream: "true" })
      for (const event of chunksOf(streamed.text)) {
        assertShape(Theirs.transcriptionEvent, event, "an event")
        declared("post", audio, 200, "text/event-stream", { event: "message", data: event }, "an event")
      }
      for (const reply of [whole, text, timed, streamed]) {
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"))
        declared("get", "/v1/generations/{id}", 200, json, JSON.parse(receipt.text), receipt.text)
      }
    })
  )

  it.effect("embed validly in both encodings, with valid receipts", () =>
    Effect.gen(function* () {
      const declared = yield* published
      const float = yield* embed({ input: ["Hello", "World"] })
      assertShape(Theirs.embeddingList, JSON.parse(float.text), "embeddings")
      const base64 = yield* embed({ input: [[1, 2]], encoding_format: "base64", dimensions: 8 })
      for (const reply of [float, base64]) {
        declared("post", vectors, 200, json, JSON.parse(reply.text), "embeddings")
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"))
        declared("get", "/v1/generations/{id}", 200, json, JSON.parse(receipt.text), receipt.text)
      }
    })
  )

  it.effect("give valid receipts of answers and of failures, direct and routed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const declared = yield* published
      const bodies: ReadonlyArray<Json> = [
        hello,
        { ...hello, stream: true },
        { messages: hello.messages, metadata: { call_name: "greeting" } },
        { ...hello, messages: [user("[fault:500] Hi")] },
        { ...hello, messages: [user("[fault:length 30] [fault:cut after=5] Go.")], stream: true }
      ]
      for (const body of bodies) {
        const asked = yield* gateway.chat(body)
        const receipt = yield* receiptOf(asked.headers.get("x-request-id"))
        declared("get", "/v1/generations/{id}", 200, json, JSON.parse(receipt.text), JSON.stringify(body))
      }
    })
  )

  it.effect("have valid errors, on every path that can fail with them", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const declared = yield* published
      const noCredit = as(yield* gateway.tenant("0"))
      const noEndpoints = as(yield* gateway.tenant("1", { endpoints: [] }))
      const oneModel = as(yield* gateway.tenant("1", { models: [modelId("gpt-4o")] }))
      const rateLimited = as(yield* gateway.tenant("1", { requestsPerMinute: 1 }))
      const unknownKey = { authorization: "Bearer tg-unknown" }
      yield* gateway.chat(hello, rateLimited)
      const cases: ReadonlyArray<Case> = [
        [chat, gateway.chat({ ...hello, temperature: 3 })],
        [chat, gateway.chat("{")],
        [chat, gateway.chat({ ...hello, model: "nope" })],
        [chat, gateway.chat({ ...hello, metadata: { call_name: " " } })],
        [chat, gateway.chat({ ...hello, n: 2 })],
        [chat, gateway.chat(hello, unknownKey)],
        [chat, gateway.chat(hello, noCredit)],
        [chat, gateway.chat(hello, as(yield* tenantOnSpentBudget))],
        [chat, gateway.chat(hello, noEndpoints)],
        [chat, gateway.chat(hello, oneModel)],
        [chat, gateway.chat(JSON.stringify({ ...hello, pad: "x".repeat(33 * 1024 * 1024) }))],
        [chat, gateway.chat(hello, { "idempotency-key": "once" })],
        [chat, gateway.chat(prompt("Another"), { "idempotency-key": "once" })],
        [chat, gateway.chat(hello, rateLimited)],
        [chat, stalledRequest(chat)],
        [chat, gateway.chat(prompt("[fault:429] Hi"))],
        [chat, gateway.chat(prompt("[fault:500] Hi"))],
        [audio, transcribe([])],
        [audio, transcribe([audioPart({ filename: "speech.txt" })])],
        [audio, transcribe([audioPart({ content: Buffer.alloc(maxFileBytes + 1) })])],
        [audio, transcribeWith({ model: "nope" })],
        [audio, transcribeWith({ response_format: "srt" })],
        [audio, transcribeWith({ call_name: "" })],
        [audio, transcribeWith({ svc: '{"end_user_id":""}' })],
        [audio, transcribeWith({}, unknownKey)],
        [audio, transcribeWith({}, noCredit)],
        [audio, transcribeWith({}, noEndpoints)],
        [audio, transcribeWith({}, oneModel)],
        [audio, transcribeWith({}, { "idempotency-key": "once" })],
        [audio, transcribeWith({ prompt: "another" }, { "idempotency-key": "once" })],
        [audio, transcribeWith({}, rateLimited)],
        [audio, stalledRequest(audio, "multipart/form-data; boundary=x")],
        [audio, transcribeWith({ model: "gpt-transcribe", prompt: "[fault:429]" })],
        [audio, transcribeWith({ model: "gemini-2.5-flash", prompt: "[fault:500]" })],
        ...embeddingCases([noCredit, noEndpoints, oneModel, rateLimited, unknownKey, as(yield* tenantOnSpentBudget)]),
        ["/v1/models", gateway.request("GET", "/v1/models", undefined, unknownKey)],
        ["/v1/models", gateway.request("GET", "/v1/models", undefined, rateLimited)],
        ["/v1/models", gateway.request("GET", "/v1/models", undefined, noEndpoints)],
        ["/v1/models/{id}", gateway.request("GET", "/v1/models/nope")],
        ["/v1/models/{id}", gateway.request("GET", "/v1/models/nope", undefined, unknownKey)],
        ["/v1/generations/{id}", gateway.request("GET", "/v1/generations/nope")],
        ["/v1/generations/{id}", gateway.request("GET", "/v1/generations/nope", undefined, rateLimited)],
        [adminKeys, Effect.andThen(twice, twice)]
      ]
      const seen = new Set<unknown>()
      for (const [path, ask] of cases) {
        const reply = yield* ask
        const about = `${path}: ${reply.status}`
        const body: unknown = JSON.parse(reply.text)
        seen.add(reply.at("error.code"))
        if (reply.status === 200) continue
        assertShape(Theirs.errorBody, body, about)
        declared(posts.has(path) ? "post" : "get", path, reply.status, json, body, about)
      }
      assert.sameMembers(
        [...seen].filter((code) => code !== undefined),
        Object.keys(errorTable).filter((code) => code !== undeclared)
      )
    })
  )
})
