/**
 * Encodes a transcription for the wire, in each of the forms that a client can ask for. A stream has the whole text in
 * one piece, because it is settled before any of it is sent, so that its last event can tell the cost.
 */
import type * as Wire from "../../api/AudioTranscription.ts"
import { toUsdNumber } from "../../domain/Money.ts"
import { promptTokens } from "../../domain/Usage.ts"
import type { TranscriptionResult } from "../../gateway/TranscribeAudio.ts"
import type { RecordedAnswer } from "../../idempotency/IdempotentRequest.ts"
import type { TranscriptionFormat } from "./TranscriptionForm.ts"

/** The answer in the form that was asked for. */
export const answerAs = (format: TranscriptionFormat, result: TranscriptionResult): RecordedAnswer => ({
  ...encodings[format](result),
  ...(result.adjustments.length > 0 && { adjusted: result.adjustments.join(", ") })
})

const encodings: { readonly [Format in TranscriptionFormat]: (result: TranscriptionResult) => RecordedAnswer } = {
  json: (result) => ({ contentType: "application/json", body: Buffer.from(JSON.stringify(bodyOf(result))) }),
  text: ({ text }) => ({ contentType: "text/plain; charset=utf-8", body: Buffer.from(text) }),
  events: (result) => ({
    contentType: "text/event-stream; charset=utf-8",
    body: Buffer.from(`${eventsOf(result).map(line).join("")}data: [DONE]\n\n`)
  })
}

const bodyOf = ({ cost, length, text, usage }: TranscriptionResult): Wire.Transcription => {
  const input = promptTokens(usage)
  return {
    text,
    usage: {
      type: "tokens",
      seconds: length.millis / 1_000,
      input_tokens: input,
      input_token_details: { audio_tokens: usage.audioInput, text_tokens: input - usage.audioInput },
      output_tokens: usage.output,
      total_tokens: input + usage.output,
      cost: toUsdNumber(cost)
    }
  }
}

/** Silence has no text, so its stream has no delta. */
const eventsOf = (result: TranscriptionResult): ReadonlyArray<Wire.TranscriptionEvent> => {
  const { text, usage } = bodyOf(result)
  return [
    ...(text === "" ? [] : [{ type: "transcript.text.delta" as const, delta: text }]),
    { type: "transcript.text.done", text, usage }
  ]
}

const line = (event: Wire.TranscriptionEvent): string => `data: ${JSON.stringify(event)}\n\n`
