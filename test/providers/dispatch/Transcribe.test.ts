import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit } from "effect"

import { Catalog } from "../../../src/catalog/Catalog.ts"
import { providerId } from "../../../src/domain/Ids.ts"
import type { TranscriptionRequest } from "../../../src/domain/Transcription.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import type { Exhausted } from "../../../src/providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../../../src/providers/dispatch/Target.ts"
import { openAiTranscription } from "../../../src/providers/protocols/openai-transcription/OpenAiTranscription.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import { defaultTimeouts } from "../../../src/providers/transport/Timeouts.ts"
import { at } from "../../support/Chat.ts"
import * as Fake from "../../support/fake-provider/FakeProvider.ts"
import { type FormPart, partsOf, recording } from "../recordings.ts"
import { FakeTargets, held, json, realLayer, status, targetOf, testLayer } from "./FakeTargets.ts"

/** The same target with a model that only transcribes. */
const transcriber = ({ endpoint, model }: Target): Target => ({
  model: { ...model, kind: "transcription", modalities: { image: false, audio: true } },
  endpoint: { ...endpoint, protocol: "openai-transcription" }
})

const transcribe = (request: TranscriptionRequest, ...targets: readonly [Target, ...Array<Target>]) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.transcribe({ held, request, targets }))

const trail = ({ attempts }: Pick<Exhausted, "attempts">) =>
  attempts.map(({ endpoint, outcome }) => `${endpoint} ${outcome}`)

const transcribes = (text: string) => json({ text, usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 } })

const refuses = (code: number, message: string) => Fake.reply(code, { error: { message } })

const fieldNames = (parts: ReadonlyArray<FormPart>): ReadonlyArray<string> =>
  parts.map(({ headers }) => /^content-disposition: form-data; name="(\w+)"/i.exec(headers[0] ?? "")?.[1] ?? "")

describe("Dispatch.transcribe", () => {
  it.live("sends a form that no name or prompt of a client can break out of", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const target = transcriber(fake.target("strict", transcribes("Hello.")))
      const prompt =
        'a"\r\nX-Evil: 1\r\n\r\n------formdata\r\nContent-Disposition: form-data; name="model"\r\n\r\nümläut'
      const request = recording({ prompt, language: "de", temperature: 0.5 })
      const name = 'x"; filename="y\r\nX-Evil: 1\r\n\r\n日本.WAV'
      const answer = yield* transcribe({ ...request, file: { ...request.file, name } }, target)
      assert.strictEqual(answer.value.text, "Hello.")
      assert.strictEqual(answer.value.usage?.audioInput, 10)
      const [received] = fake.received(target)
      const { bytes, headers, path } = received ?? assert.fail("nothing was received")
      assert.strictEqual(path, "/audio/transcriptions")
      assert.strictEqual(headers["authorization"], "Bearer secret")
      // Some servers refuse a body of unknown length.
      assert.strictEqual(headers["content-length"], String(bytes.length))
      assert.isUndefined(headers["transfer-encoding"])
      const parts = partsOf(headers["content-type"], bytes)
      assert.deepStrictEqual(fieldNames(parts), [
        "model",
        "language",
        "prompt",
        "temperature",
        "response_format",
        "file"
      ])
      assert.deepStrictEqual(
        parts.slice(0, -1).map((part) => part.body.toString()),
        ["strict", "de", prompt, "0.5", "json"]
      )
      assert.deepStrictEqual(parts.at(-1)?.headers, [
        'Content-Disposition: form-data; name="file"; filename="audio.wav"',
        "Content-Type: audio/wav"
      ])
      assert.deepStrictEqual(new Uint8Array(parts.at(-1)?.body ?? []), request.file.bytes)
    }).pipe(Effect.provide(testLayer({}, defaultTimeouts)))
  )

  it.live("tries again with the whole form, then fails over, and records both tries", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const shaky = transcriber(fake.target("shaky", Fake.resets, status(500)))
      const good = transcriber(fake.target("good", transcribes("Hello.")))
      const bytes = new Uint8Array(300_000).fill(7)
      const answer = yield* transcribe(recording({}, "mp3", bytes), shaky, good)
      assert.deepStrictEqual(trail(answer), ["shaky Transient", "shaky Transient", "good answered"])
      assert.strictEqual(answer.target, good)
      for (const target of [shaky, good])
        for (const { bytes: form, headers } of fake.received(target)) {
          const sent = partsOf(headers["content-type"], form).at(-1)?.body
          assert.strictEqual(sent?.equals(bytes), true)
        }
    }).pipe(Effect.provide(testLayer({}, defaultTimeouts)))
  )

  it.live("fails over when a model cannot take the audio, whatever the context windows are", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const long = "audio duration 2000.0 seconds is longer than 1400 seconds which is the maximum for this model"
      const small = transcriber(fake.target("small", refuses(400, long)))
      const proxy = transcriber(fake.target("proxy", refuses(413, "Request Entity Too Large")))
      const codec = transcriber(fake.target("codec", refuses(400, "Audio file might be corrupted or unsupported")))
      const good = transcriber(fake.target("good", transcribes("Hello.")))
      const answer = yield* transcribe(recording(), small, proxy, codec, good)
      assert.deepStrictEqual(trail(answer), [
        "small Unsupported",
        "proxy Unsupported",
        "codec Unsupported",
        "good answered"
      ])
    }).pipe(Effect.provide(testLayer({}, defaultTimeouts)))
  )

  it.live("stops at audio that no provider can read, with the message of the provider", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const strict = transcriber(fake.target("strict", refuses(400, "Invalid file format. Supported formats: [mp3]")))
      const other = transcriber(fake.target("other", transcribes("Hello.")))
      const error = yield* Effect.flip(transcribe(recording(), strict, other))
      assert.strictEqual(error.last.reason._tag, "Invalid")
      assert.include(error.last.message, "Supported formats")
      assert.strictEqual(fake.calls(other), 0)
    }).pipe(Effect.provide(testLayer({}, defaultTimeouts)))
  )

  it.live("accepts an empty transcript as an answer", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const answer = yield* transcribe(recording(), transcriber(fake.target("mute", json({ text: " " }))))
      assert.deepStrictEqual(answer.value, { text: "", usage: undefined })
    }).pipe(Effect.provide(testLayer({}, defaultTimeouts)))
  )

  it.live("gives up on a provider that does not answer", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const silent = transcriber(fake.target("silent", Fake.hangs))
      const late = yield* Effect.flip(transcribe(recording(), silent))
      assert.deepInclude(late.last.reason, { kind: "timeout" })
    }).pipe(Effect.provide(testLayer({ triesPerTarget: 1 })))
  )

  it.live("reports the wait of a provider that is rate-limited", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const busy = transcriber(fake.target("busy", status(429, { "retry-after": "30" })))
      const error = yield* Effect.flip(transcribe(recording(), busy))
      assert.deepStrictEqual(error.rateLimited, { retryAfter: Duration.seconds(30) })
    }).pipe(Effect.provide(testLayer({ triesPerTarget: 1 }, defaultTimeouts)))
  )

  it.live("skips an endpoint that keeps failing", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const bad = transcriber(fake.target("bad", status(500)))
      const good = transcriber(fake.target("good", transcribes("Hello.")))
      for (let round = 0; round < 5; round++) yield* transcribe(recording(), bad, good)
      const answer = yield* transcribe(recording(), bad, good)
      assert.deepStrictEqual(trail(answer), ["bad skipped", "good answered"])
      assert.strictEqual(fake.calls(bad), 5)
    }).pipe(Effect.provide(testLayer({ triesPerTarget: 1 }, defaultTimeouts)))
  )

  it.live("reads a rejection of the file that arrives before the file is sent", () =>
    Effect.gen(function* () {
      const refuse = refuses(413, "too large")
      const early = Fake.beforeBody((response, received) => {
        const { socket } = response
        setTimeout(() => socket?.destroy(), 50)
        return refuse(response, received)
      })
      const fake = yield* FakeTargets
      fake.target("x", early)
      const { account } = yield* Catalog
      const request = recording({}, "wav", new Uint8Array(26_214_400))
      const transport = yield* HttpTransport
      const failure = yield* Effect.flip(
        transport.json({
          account: account(providerId("x")) ?? assert.fail("no account"),
          wire: openAiTranscription.encode({ request, upstream: "up", dialect: "generic" }),
          failure: openAiTranscription.failure
        })
      )
      assert.deepInclude(failure, { status: 413, message: "too large" })
    }).pipe(Effect.scoped, Effect.provide(testLayer({}, defaultTimeouts)))
  )
})

describe("Dispatch.transcribe with a chat model", () => {
  const chatAnswer = (content: string, finish_reason = "stop", more: object = {}) =>
    json({
      choices: [{ index: 0, message: { role: "assistant", content, ...more }, finish_reason }],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 4,
        total_tokens: 34,
        prompt_tokens_details: { audio_tokens: 10 }
      }
    })

  it.live("sends a chat request, and answers with the usage of the chat", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const target = fake.target("chat", chatAnswer(" Hello. "))
      const answer = yield* transcribe(recording(), target)
      assert.strictEqual(answer.value.text, "Hello.")
      assert.deepInclude(answer.value.usage, { input: 20, audioInput: 10, output: 4 })
      const [received] = fake.received(target)
      assert.strictEqual(received?.path, "/chat/completions")
      assert.deepInclude(received?.body, { model: "chat", temperature: 0, stream: false })
      assert.strictEqual(at(received?.body, "messages", 0, "content", 1, "type"), "input_audio")
    }).pipe(Effect.provide(realLayer()))
  )

  it.live("fails when the transcript was cut off or refused", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const failing = (name: string, ...answer: Parameters<typeof chatAnswer>) =>
        Effect.map(Effect.flip(transcribe(recording(), fake.target(name, chatAnswer(...answer)))), ({ last }) => last)
      assert.strictEqual((yield* failing("half", "Hel", "length")).reason._tag, "ContextTooLong")
      assert.strictEqual((yield* failing("prude", "", "content_filter")).reason._tag, "Refused")
      const refused = yield* failing("polite", "", "stop", { refusal: "I cannot listen to this." })
      assert.strictEqual(refused.message, "I cannot listen to this.")
      const blocked = fake.target("blocked", Fake.error(400, { message: "flagged", code: "content_policy_violation" }))
      const error = yield* Effect.flip(transcribe(recording(), blocked))
      assert.deepStrictEqual([error.last.reason._tag, error.last.message], ["Refused", "flagged"])
      assert.deepStrictEqual(trail(error), ["blocked Refused"])
    }).pipe(Effect.provide(realLayer()))
  )

  it.live("fails over between chat models and transcription models, in either order", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const chat = fake.target("chat", chatAnswer("From the chat."))
      const form = transcriber(fake.target("form", status(404)))
      assert.strictEqual((yield* transcribe(recording(), form, chat)).value.text, "From the chat.")
      // The protocol knows that this server does not take the format, so nothing is sent to it.
      const good = transcriber(fake.target("good", transcribes("From the form.")))
      const answer = yield* transcribe(recording({}, "webm"), chat, good)
      assert.strictEqual(answer.value.text, "From the form.")
      assert.strictEqual(fake.calls(chat), 1)
    }).pipe(Effect.provide(realLayer()))
  )

  it.live("dies when a chat request is sent to a model that only transcribes", () =>
    Effect.gen(function* () {
      const dispatch = yield* Dispatch
      const request = { messages: [], tools: [], toolChoice: "auto", parallelToolCalls: true, stop: [] } as const
      const exit = yield* Effect.exit(
        dispatch.complete({
          held,
          request: { ...request, responseFormat: { type: "text" } },
          targets: [transcriber(targetOf("form"))]
        })
      )
      assert.isTrue(Exit.hasDies(exit))
    }).pipe(Effect.provide(testLayer({}, defaultTimeouts)))
  )
})
