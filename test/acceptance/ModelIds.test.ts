/** Which model answers a request for a named, a routed or an unknown id; and the endpoints that list models. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type OpenAI from "openai"

import { modelId } from "../../src/domain/Ids.ts"
import { at, type Json } from "../support/Chat.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"
import { speech, waveOf } from "../support/WaveFile.ts"

const messages = [{ role: "user" as const, content: "Write a sonnet about tides." }]

const isTranscriber = (card: object): boolean => at(card, "svc", "kind") === "transcription"
const isEmbedder = (card: object): boolean => at(card, "svc", "kind") === "embedding"

describeGateway("Model ids", (it) => {
  it.effect("routes svc-auto, null and an omitted model alike, and never answers as svc-auto", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const chosen = new Set<unknown>()
      for (const model of [{ model: "svc-auto" }, { model: null }, {}]) {
        const reply = yield* gateway.chat({ messages, ...model })
        assert.deepStrictEqual([reply.status, reply.at("svc.routed")], [200, true], reply.text)
        assert.strictEqual(reply.at("svc.routed_model"), reply.at("model"))
        assert.isAtLeast(Number(reply.at("svc.routing_latency_ms")), 0)
        chosen.add(reply.at("model"))
      }
      assert.strictEqual(chosen.size, 1)
      assert.isFalse(chosen.has("svc-auto"))
    })
  )

  it.effect("answers a direct call with the named model, without routing", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* TestGateway).chat({ model: "claude-sonnet-4-6", messages })
      assert.strictEqual(reply.at("model"), "claude-sonnet-4-6")
      assert.deepStrictEqual(reply.at("svc"), { routed: false, routed_model: null, routing_latency_ms: null })
    })
  )

  it.effect("are listed for the openai SDK, which can retrieve and call each of them", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const [auto, ...listed] = yield* Effect.promise(async () => (await openai.models.list()).data)
      assert.isAbove(listed.length, 20)
      assert.strictEqual(auto?.id, "svc-auto")
      assert.deepStrictEqual(yield* Effect.promise(() => openai.models.retrieve("svc-auto")), auto)
      const rank = (model: OpenAI.Model) => `${isTranscriber(model) ? 1 : isEmbedder(model) ? 2 : 0} ${model.id}`
      assert.deepStrictEqual(
        [...listed].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)),
        listed
      )
      for (const model of listed) {
        assert.deepInclude(model, { object: "model" })
        assert.deepStrictEqual(yield* Effect.promise(() => openai.models.retrieve(model.id)), model)
        if (isTranscriber(model)) {
          const file = new File([Uint8Array.from(waveOf(speech, 32_000))], "second.wav")
          const { text } = yield* Effect.promise(() => openai.audio.transcriptions.create({ model: model.id, file }))
          assert.isNotEmpty(text)
        } else if (isEmbedder(model)) {
          const { data } = yield* Effect.promise(() => openai.embeddings.create({ model: model.id, input: "Hi" }))
          assert.lengthOf(data, 1)
        } else {
          const answer = yield* Effect.promise(() =>
            openai.chat.completions.create({ model: model.id, messages, max_completion_tokens: 5 })
          )
          assert.strictEqual(answer.model, model.id)
        }
      }
    })
  )

  it.effect("tell models for chats, transcription and embeddings apart as OpenRouter does", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const list = yield* gateway.request("GET", "/v1/models")
      for (const card of list.at("data") as ReadonlyArray<Json>) {
        const expected = isTranscriber(card) ? "transcription" : isEmbedder(card) ? "embeddings" : "text"
        assert.deepStrictEqual(at(card, "architecture", "output_modalities"), [expected])
        assert.deepStrictEqual(at(card, "architecture", "input_modalities"), at(card, "svc", "input_modalities"))
      }
      assert.strictEqual(list.at("data.0.architecture.modality"), "text+image+audio->text")
      const whisper = yield* gateway.request("GET", "/v1/models/whisper-large-v3")
      assert.strictEqual(whisper.at("architecture.modality"), "audio->transcription")
    })
  )

  it.effect("show what the routed model can do, and no price of its own", () =>
    Effect.gen(function* () {
      const card = (yield* (yield* TestGateway).request("GET", "/v1/models/svc-auto")).at("svc") as Json
      assert.deepInclude(card, { kind: "chat", routed: true, tools: true, structured_output: true })
      assert.isAtLeast(Number(card["context_window"]), 1_000_000)
      assert.doesNotHaveAnyKeys(card, ["price_usd_per_mtok", "price_usd_per_audio_hour"])
    })
  )

  it.effect("show the price and the abilities of a model under the service's name", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* TestGateway).request("GET", "/v1/models/gpt-4o-mini")
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.at("svc.price_usd_per_mtok.input"), "0.15")
      assert.strictEqual(reply.at("svc.price_usd_per_mtok.output"), "0.6")
      assert.deepStrictEqual(reply.at("svc.input_modalities"), ["text", "image"])
      assert.strictEqual(reply.at("svc.context_window"), 128_000)
    })
  )

  it.effect("show which models are for transcription, and their price by the token or by the hour", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const card = (id: string) => Effect.map(gateway.request("GET", `/v1/models/${id}`), (reply) => reply.at("svc"))
      const byToken = yield* card("gpt-4o-transcribe")
      assert.deepInclude(byToken, { kind: "transcription", input_modalities: ["audio"], max_output_tokens: 2_000 })
      assert.deepInclude(byToken, { providers: ["openai"], tools: false })
      const byHour = yield* card("whisper-large-v3")
      assert.deepInclude(byHour, { price_usd_per_audio_hour: "0.111", minimum_audio_seconds: 10, providers: ["groq"] })
      assert.doesNotHaveAnyKeys(byHour, ["price_usd_per_mtok", "context_window", "max_output_tokens"])
    })
  )

  it.effect("are understood with the prefix of a vendor or the date of a snapshot", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const [name, id] of [
        ["openai/gpt-4o-mini", "gpt-4o-mini"],
        ["gpt-4o-2024-08-06", "gpt-4o"],
        ["anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"]
      ] as const) {
        const reply = yield* gateway.chat({ model: name, messages })
        assert.deepStrictEqual([reply.status, reply.at("model"), reply.at("svc.routed")], [200, id, false], reply.text)
        const card = yield* gateway.request("GET", `/v1/models/${encodeURIComponent(name)}`)
        assert.strictEqual(card.at("id"), id)
      }
      const other = yield* gateway.chat({ model: "anthropic/gpt-4o-mini", messages })
      assert.deepStrictEqual([other.status, other.at("error.code")], [400, "invalid_model"])
      const { key } = yield* gateway.tenant("1", { models: [modelId("gpt-4o-mini")] })
      const refused = yield* gateway.chat({ model: "openai/gpt-4o", messages }, { authorization: `Bearer ${key}` })
      assert.deepStrictEqual([refused.status, refused.at("error.code")], [403, "model_not_allowed"])
    })
  )

  it.effect("are not found when no model has them", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const id of ["nope", "acme-auto", "__proto__", "constructor", "a%2Fb", "%20", "%E0%A4%A"]) {
        const reply = yield* gateway.request("GET", `/v1/models/${id}`)
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [404, "not_found"], id)
      }
    })
  )
})

describeGateway(
  "Model ids of a service named acme",
  (it) => {
    it.effect("carry the name: acme-auto is routed, and the metadata is in acme", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const routed = yield* gateway.chat({ model: "acme-auto", messages })
        assert.deepStrictEqual([routed.status, routed.at("acme.routed")], [200, true], routed.text)
        assert.isUndefined(routed.at("svc"))
        const streamed = yield* gateway.chat({ model: "acme-auto", messages, stream: true })
        assert.include(streamed.text, '"acme":{"routed":true')
        assert.notInclude(streamed.text, '"svc"')
        const foreign = yield* gateway.chat({ model: "svc-auto", messages })
        assert.deepStrictEqual([foreign.status, foreign.at("error.code")], [400, "invalid_model"])
        const card = yield* gateway.request("GET", "/v1/models/gpt-4o-mini")
        assert.strictEqual(card.at("acme.context_window"), 128_000)
        assert.isUndefined(card.at("svc"))
        const list = yield* gateway.request("GET", "/v1/models")
        assert.deepStrictEqual([list.at("data.0.id"), list.at("data.0.owned_by")], ["acme-auto", "acme"])
      })
    )

    it.effect("are those of the OpenAPI document", () =>
      Effect.gen(function* () {
        const document = yield* (yield* TestGateway).request("GET", "/openapi.json")
        assert.match(String(document.at("openapi")), /^3\.1/)
        assert.containsAllKeys(document.at("paths"), ["/v1/chat/completions", "/v1/models", "/v1/models/{id}"])
        assert.include(document.text, '"acme"')
        assert.include(document.text, "acme-auto")
        assert.notInclude(document.text, '"svc"')
        assert.notInclude(document.text, "svc-auto")
      })
    )
  },
  { SERVICE_NAME: "acme" }
)
