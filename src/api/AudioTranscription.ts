/**
 * The form and the answers of `POST /v1/audio/transcriptions`. The schema of the form only documents it: the form is
 * read part by part while it arrives, so that a file that will be refused is never kept in memory.
 */
import { Schema } from "effect"

import { audioExtensions } from "../domain/Transcription.ts"

const text = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

const labelObject = (description: string) =>
  text(`A JSON object, as text. ${description} \`call_name\` has 1 to 64 characters, \`end_user_id\` 1 to 512.`)

export const TranscriptionRequestBody = Schema.Struct({
  file: Schema.String.annotate({
    format: "binary",
    description: `At most 25 MiB, with a filename that ends in ${audioExtensions.join(", ")}.`
  }),
  model: text(
    "`svc-auto`, `whisper-1`, `gpt-4o-transcribe`, `gpt-4o-mini-transcribe` or nothing: the default model. " +
      "Any other id of the catalog is used directly, and must take audio input."
  ),
  language: text("Language of the audio, in ISO 639-1, such as `en`. Empty or left out, it is detected."),
  prompt: text("Guides the style, or supplies vocabulary."),
  temperature: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({ description: "0 by default." })
  ),
  response_format: Schema.optionalKey(
    Schema.Literals(["json", "text"]).annotate({ description: "`json` by default." })
  ),
  stream: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Answers with server-sent events, which end with `data: [DONE]`. False by default."
  }),
  call_name: text("Label of the request, looked at when neither object has one. 1 to 64 characters."),
  svc: labelObject("Preferred place of the labels `call_name` and `end_user_id`."),
  metadata: labelObject("Place of the labels that the preferred one does not have; other keys are not stored.")
}).annotate({ identifier: "TranscriptionForm" })

const TranscriptionUsage = Schema.Struct({
  type: Schema.Literal("tokens"),
  seconds: Schema.Finite.annotate({
    description: "Length of the audio: exact for WAV, estimated from the size of the file for other formats."
  }),
  input_tokens: Schema.Int,
  input_token_details: Schema.Struct({ audio_tokens: Schema.Int, text_tokens: Schema.Int }).annotate({
    description: "The two parts of `input_tokens`; the text is that of the prompt."
  }),
  output_tokens: Schema.Int,
  total_tokens: Schema.Int,
  cost: Schema.Finite.annotate({ description: "Settled cost in USD." })
})

export const Transcription = Schema.Struct({
  text: Schema.String,
  usage: TranscriptionUsage
}).annotate({ identifier: "Transcription" })
export type Transcription = typeof Transcription.Type

/** One `data:` line of a streamed transcription. The last event is `done`, with the whole text and the usage. */
export const TranscriptionEvent = Schema.Union([
  Schema.Struct({ type: Schema.Literal("transcript.text.delta"), delta: Schema.String }),
  Schema.Struct({ type: Schema.Literal("transcript.text.done"), text: Schema.String, usage: TranscriptionUsage })
]).annotate({ identifier: "TranscriptionEvent" })
export type TranscriptionEvent = typeof TranscriptionEvent.Type
