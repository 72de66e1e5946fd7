import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { DialectName } from "../../../../src/catalog/Provider.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { audioExtensions } from "../../../../src/domain/Transcription.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { openAiTranscription } from "../../../../src/providers/protocols/openai-transcription/OpenAiTranscription.ts"
import { recording } from "../../recordings.ts"
import { failing, failureTag } from "../wire.ts"

const formOf = (dialect: DialectName, request = recording()) =>
  openAiTranscription.encode({ request, upstream: "up", dialect }).body

describe("the form", () => {
  const hints = { language: "de", prompt: "Tollgate, Picodollar", temperature: 0.4 }

  it("has what the client requested, always asks for JSON, and leaves out what was not requested", () => {
    assert.deepStrictEqual(formOf("openai", recording(hints)).fields, {
      model: "up",
      language: "de",
      prompt: "Tollgate, Picodollar",
      temperature: "0.4",
      response_format: "json"
    })
    assert.deepStrictEqual(formOf("openai").fields, { model: "up", response_format: "json" })
    assert.deepStrictEqual(formOf("groq", recording({ prompt: "" })).fields, {
      model: "up",
      response_format: "json"
    })
  })

  it("has no field that a server would refuse", () => {
    const keys = (dialect: DialectName) => Object.keys(formOf(dialect, recording(hints)).fields)
    assert.deepStrictEqual(keys("mistral"), ["model", "language", "temperature"])
    assert.deepStrictEqual(keys("openrouter"), ["model", "language", "temperature", "response_format"])
    for (const dialect of ["azure", "groq", "vllm", "generic"] as const)
      assert.deepStrictEqual(keys(dialect), keys("openai"), dialect)
  })

  it("has every byte of the file, under a name that reveals its format and nothing else", () => {
    for (const extension of audioExtensions) {
      const request = recording({}, extension)
      const { file } = formOf("openai", { ...request, file: { ...request.file, name: "my diary.WAV" } })
      assert.strictEqual(file.name, `audio.${extension}`)
      assert.match(file.media, /^audio\/(flac|mpeg|mp4|ogg|wav|webm)$/)
      assert.strictEqual(file.bytes, request.file.bytes)
    }
  })
})

const answers: ReadonlyArray<readonly [string, JsonObject, string, object | undefined]> = [
  [
    "of OpenAI, which counts tokens",
    {
      text: "Good morning.",
      usage: {
        type: "tokens",
        input_tokens: 25,
        input_token_details: { text_tokens: 5, audio_tokens: 20 },
        output_tokens: 4,
        total_tokens: 29
      }
    },
    "Good morning.",
    { input: 5, audioInput: 20, output: 4 }
  ],
  ["of Whisper, which counts seconds", { text: "Hi.", usage: { type: "duration", seconds: 3 } }, "Hi.", undefined],
  [
    "in verbose JSON",
    { task: "transcribe", language: "english", duration: 1.2, text: "Hi.", words: [], segments: [{ text: " Hi." }] },
    "Hi.",
    undefined
  ],
  ["of Groq, which counts nothing", { text: " Hi there.", x_groq: { id: "req_1" } }, "Hi there.", undefined],
  [
    "of Mistral, which counts audio beside the prompt",
    {
      model: "voxtral",
      text: "Salut.",
      language: null,
      segments: [],
      usage: {
        prompt_audio_seconds: 4,
        prompt_tokens: 3,
        completion_tokens: 11,
        total_tokens: 389,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 }
      }
    },
    "Salut.",
    { input: 3, audioInput: 375, output: 11 }
  ],
  [
    "that counts audio inside the prompt under the same names",
    {
      text: "a",
      usage: {
        prompt_tokens: 378,
        completion_tokens: 11,
        total_tokens: 389,
        prompt_tokens_details: { audio_tokens: 375 }
      }
    },
    "a",
    { input: 3, audioInput: 375, output: 11 }
  ],
  [
    "of OpenRouter, which does not say what the input is",
    { text: "a", usage: { input_tokens: 37, output_tokens: 12, total_tokens: 49, cost: 0.0001 } },
    "a",
    { audioInput: 37, output: 12 }
  ],
  ["of a server of one's own", { text: "\n Guten Tag. \n" }, "Guten Tag.", undefined],
  ["without any speech", { text: "" }, "", undefined],
  ["whose counts are all zero", { text: "a", usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }, "a", {}],
  [
    "whose counts are implausible, to be judged where the limits of the model are known,",
    { text: "a", usage: { input_tokens: 1e12, output_tokens: 1 } },
    "a",
    { audioInput: 1e12, output: 1 }
  ],
  ["whose counts are not numbers", { text: "a", usage: { input_tokens: "many", output_tokens: null } }, "a", undefined]
]

describe("the answer", () => {
  for (const [name, body, text, usage] of answers)
    it(`${name} is read`, () => {
      assert.deepStrictEqual(Result.getOrThrow(openAiTranscription.decode(body)), {
        text,
        usage: usage === undefined ? undefined : { ...none, ...usage }
      })
    })

  it("without a text is broken, and an error inside a success is a failure", () => {
    for (const body of [null, "Hi.", [], {}, { text: null }, { text: 7 }, { segments: [{ text: "Hi." }] }])
      assert.strictEqual(failing(openAiTranscription.decode(body)), "broken", JSON.stringify(body))
    assert.strictEqual(failing(openAiTranscription.decode({ error: "no 'file' field in the request" })), "server")
    assert.strictEqual(
      failing(openAiTranscription.decode({ error: { message: "busy", code: "overloaded" }, text: "" })),
      "overloaded"
    )
  })
})

describe("an error", () => {
  const errorBody = (message: string, code: string | null = null) => ({ error: { message, code, param: null } })
  const errors: ReadonlyArray<readonly [number, unknown, string]> = [
    // Another model may accept the recording.
    [
      400,
      errorBody("audio duration 1500.0 seconds is longer than 1400 seconds for this model", "invalid_value"),
      "Unsupported"
    ],
    [400, errorBody("instructions and audio are too large", "input_too_large"), "Unsupported"],
    [413, errorBody("Maximum content size limit (26214400) exceeded (26214850 bytes read)"), "Unsupported"],
    [413, "<html><head><title>413 Request Entity Too Large</title></head></html>", "Unsupported"],
    [400, errorBody("Audio file might be corrupted or unsupported", "invalid_value"), "Unsupported"],
    [400, errorBody("The audio file could not be decoded or its format is not supported."), "Unsupported"],
    [400, { object: "error", message: "Audio input could not be decoded. ", code: "3310" }, "Unsupported"],
    [400, errorBody("Unsupported file format bin", "unsupported_value"), "Unsupported"],
    [400, { object: "error", message: "Invalid model: x", type: "invalid_model", code: "1500" }, "Unsupported"],
    [404, errorBody("The model `x` does not exist", "model_not_found"), "Unsupported"],
    [422, { detail: [{ loc: ["body", "prompt"], msg: "Extra inputs are not permitted" }] }, "Unsupported"],
    // No model can.
    [400, errorBody("Invalid file format. Supported formats: ['flac', 'mp3', 'wav']"), "Invalid"],
    [400, errorBody("Audio file is too short. Minimum audio length is 0.1 seconds.", "audio_too_short"), "Invalid"],
    // The provider is at fault.
    [401, { detail: "Invalid API Key" }, "Credentials"],
    [429, errorBody("x", "insufficient_quota"), "Credentials"],
    [429, errorBody("x", "rate_limit_exceeded"), "rate_limited"],
    [500, errorBody("The server had an error", "server_error"), "server"],
    [502, "<!doctype html><title>Bad gateway</title>", "server"]
  ]
  for (const [status, body, expected] of errors)
    it(`${status} ${JSON.stringify(body).slice(0, 70)} is ${expected}`, () => {
      const text = typeof body === "string" ? body : JSON.stringify(body)
      const failure = openAiTranscription.failure({ status, headers: {}, body: text })
      assert.strictEqual(failureTag(failure), expected)
      assert.strictEqual(failure.status, status)
      assert.notInclude(failure.message, "<")
    })
})
