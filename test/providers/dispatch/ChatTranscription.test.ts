import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { ChatProtocolName, Model } from "../../../src/catalog/Model.ts"
import type { DialectName } from "../../../src/catalog/Provider.ts"
import type { CompletionEvent, FinishReason } from "../../../src/domain/Completion.ts"
import { audioFormats } from "../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { audioExtensions } from "../../../src/domain/Transcription.ts"
import { none } from "../../../src/domain/Usage.ts"
import { transcriptionChat, transcriptOf } from "../../../src/providers/dispatch/ChatTranscription.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { asSent, callOf, failing, failureTag, thinker } from "../protocols/wire.ts"
import { recording } from "../recordings.ts"

const encoded = (
  protocol: ChatProtocolName,
  request = recording(),
  more: { readonly dialect?: DialectName; readonly model?: Partial<Model> } = {}
) => protocols[protocol].encode(callOf({ request: transcriptionChat(request), stream: false, ...more }))

const bodyOf = (...call: Parameters<typeof encoded>): JsonObject => asSent(Result.getOrThrow(encoded(...call)).body)

const data = Buffer.from(recording().file.bytes).toString("base64")

describe("The chat request for a transcription", () => {
  it("has the instruction, the client's hints and the audio in one user message", () => {
    const { messages, temperature } = transcriptionChat(
      recording({ language: "de", prompt: "Tollgate, Picodollar", temperature: 0.3 })
    )
    assert.strictEqual(messages.length, 1)
    assert.strictEqual(temperature, 0.3)
    const [text, audio] = messages[0]?.content ?? []
    assert.deepStrictEqual(audio, { type: "audio", data, format: "wav" })
    const instruction = text?.type === "text" ? text.text : assert.fail("no text")
    for (const part of ["verbatim", "only the transcript", "de (ISO 639-1)", "Tollgate, Picodollar"])
      assert.include(instruction, part)
    assert.notInclude(JSON.stringify(transcriptionChat(recording({ prompt: "" }))), "vocabulary")
  })

  it("names every audio format as chat requests do", () => {
    const formats = audioExtensions.map((extension) => {
      const part = transcriptionChat(recording({}, extension)).messages[0]?.content[1]
      return part?.type === "audio" ? part.format : "none"
    })
    assert.deepStrictEqual(formats, ["flac", "mp3", "m4a", "mp3", "mp3", "m4a", "ogg", "wav", "webm"])
    for (const format of formats) assert.include([...audioFormats], format)
  })

  it("asks for as little reasoning as the model allows", () => {
    assert.strictEqual(
      bodyOf("openai-chat", recording(), { model: thinker({ support: "always" }) })["reasoning_effort"],
      "low"
    )
    const budget = thinker({ support: "optional", efforts: [], budgetTokens: { min: 1, max: 8_000 } })
    const config = bodyOf("gemini", recording(), { model: budget })["generationConfig"]
    assert.deepStrictEqual(config, { temperature: 0, thinkingConfig: { thinkingBudget: 0 } })
  })

  it("leaves the temperature out when the model does not support one", () => {
    assert.notProperty(bodyOf("openai-chat", recording(), { model: { sampling: "never" } }), "temperature")
  })

  it("is encoded as each provider expects audio [openai-chat: audio] [gemini: audio]", () => {
    const content = (body: JsonObject) => JSON.stringify(body["messages"] ?? body["contents"])
    assert.include(content(bodyOf("openai-chat")), `"input_audio":{"data":"${data}","format":"wav"}`)
    assert.include(
      content(bodyOf("openai-chat", recording({}, "mpga"), { dialect: "mistral" })),
      `"input_audio":"${data}"`
    )
    assert.include(
      content(bodyOf("openai-chat", recording({}, "ogg"), { dialect: "openrouter" })),
      `{"data":"${data}","format":"ogg"}`
    )
    const mimes = (["mp3", "mpga", "mpeg", "wav", "flac", "ogg", "mp4", "m4a", "webm"] as const).map(
      (extension) => /"mimeType":"(.*?)"/.exec(content(bodyOf("gemini", recording({}, extension))))?.[1]
    )
    assert.deepStrictEqual(mimes, [
      "audio/mpeg",
      "audio/mpeg",
      "audio/mpeg",
      "audio/wav",
      "audio/flac",
      "audio/ogg",
      "audio/m4a",
      "audio/m4a",
      "audio/webm"
    ])
  })

  it("is refused before it is sent when the protocol does not support the audio format", () => {
    for (const extension of ["ogg", "flac", "m4a", "webm"] as const)
      assert.strictEqual(failing(encoded("openai-chat", recording({}, extension))), "Unsupported", extension)
    for (const protocol of ["anthropic-messages", "bedrock-converse", "openai-responses"] as const)
      assert.strictEqual(failing(encoded(protocol)), "Unsupported", protocol)
  })
})

describe("The transcript in a chat answer", () => {
  const answer = (text: string, reason: FinishReason, ...more: ReadonlyArray<CompletionEvent>) =>
    transcriptOf([{ type: "reasoning", text: "Hm." }, { type: "text", text }, ...more, { type: "finish", reason }])

  it("is the trimmed text of the answer, with the usage of the answer", () => {
    const usage = { ...none, audioInput: 20, output: 3 }
    assert.deepStrictEqual(Result.getOrThrow(answer("\n Hello. \n", "stop", { type: "usage", usage })), {
      text: "Hello.",
      usage
    })
    assert.deepStrictEqual(Result.getOrThrow(answer("", "stop")), { text: "", usage: undefined })
  })

  it("is a failure when it was cut off or refused", () => {
    const reasonOf = (result: ReturnType<typeof answer>) =>
      Result.isFailure(result) ? `${failureTag(result.failure)}: ${result.failure.message}` : "success"
    assert.match(reasonOf(answer("Half a", "length")), /^ContextTooLong: /)
    assert.match(reasonOf(answer("", "content_filter")), /^Refused: /)
    assert.strictEqual(reasonOf(answer("", "stop", { type: "refusal", text: "I will not." })), "Refused: I will not.")
  })
})
