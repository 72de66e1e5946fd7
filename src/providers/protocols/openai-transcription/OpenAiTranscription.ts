/**
 * OpenAI's audio transcriptions, for OpenAI and for every server that copies it. The answer is always asked for as
 * JSON, whatever the client wants, because only that form says what was used.
 */
import { Result } from "effect"

import { broken, Failure } from "../../../domain/Failure.ts"
import type { AudioExtension, Transcript } from "../../../domain/Transcription.ts"
import { fromInclusive, isBelievable, type Usage } from "../../../domain/Usage.ts"
import type { ErrorResponse, MultipartForm, SpeechCall, TranscriptionProtocol, WireRequest } from "../Protocol.ts"
import { dialects } from "../shared/Dialects.ts"
import { failureInBody, failureOfResponse } from "../shared/ErrorClassifier.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

const mediaTypes = {
  flac: "audio/flac",
  mp3: "audio/mpeg",
  mp4: "audio/mp4",
  mpeg: "audio/mpeg",
  mpga: "audio/mpeg",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  wav: "audio/wav",
  webm: "audio/webm"
} as const satisfies Record<AudioExtension, string>

/**
 * Providers tell the format by the extension alone, so the rest of the client's file name, which is nobody's business,
 * stays here. A temperature of 0 is every server's default, and a form without it suits those that know no other.
 */
const encode = ({ dialect, request, upstream }: SpeechCall): WireRequest<MultipartForm> => {
  const { file, language, prompt, temperature } = request
  const values = {
    language,
    prompt,
    temperature: temperature === 0 ? undefined : String(temperature),
    response_format: "json"
  }
  const fields: Record<string, string> = { model: upstream }
  for (const name of dialects[dialect].transcription) {
    const value = values[name]
    if (value) fields[name] = value
  }
  const { bytes, extension } = file
  const body: MultipartForm = {
    fields,
    file: { field: "file", name: `audio.${extension}`, media: mediaTypes[extension], bytes }
  }
  return { path: "/audio/transcriptions", headers: {}, body }
}

/** Silence has an empty transcript. */
const decode = (body: unknown): Result.Result<Transcript, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
  const failure = failureInBody(fields)
  if (failure !== undefined) return Result.fail(failure)
  const { text } = fields
  // Whisper begins its texts with a space.
  return typeof text === "string"
    ? Result.succeed({ text: text.trim(), usage: usageIn(fields) })
    : Result.fail(broken("The provider's answer has no text."))
}

/** Tokens, where they are told: some servers count seconds, most count nothing, and a zero is no count. */
const usageIn = (fields: Fields): Usage | undefined => {
  const counts = asObject(fields["usage"]) ?? {}
  const input = asNumber(counts["input_tokens"]) ?? asNumber(counts["prompt_tokens"]) ?? 0
  const output = asNumber(counts["output_tokens"]) ?? asNumber(counts["completion_tokens"]) ?? 0
  const details = asObject(counts["input_token_details"]) ?? asObject(counts["prompt_tokens_details"])
  const audio = asNumber(details?.["audio_tokens"])
  // Mistral counts audio beside the prompt; the total tells.
  const beside = (asNumber(counts["total_tokens"]) ?? 0) - input - output
  const usage = fromInclusive({
    prompt: beside === audio ? input + beside : input,
    completion: output,
    // Without parts all of it is audio, which is most of it and never the cheaper part.
    audioInput: audio ?? input
  })
  return input > 0 && isBelievable(usage) ? usage : undefined
}

/** A context window does not tell how much audio a model takes: what is too long for one may suit any other. */
const failure = (response: ErrorResponse): Failure => {
  const found = failureOfResponse(response)
  const { message, reason, status } = found
  return reason._tag === "ContextTooLong"
    ? new Failure({ reason: { _tag: "Unsupported" }, message, ...(status !== undefined && { status }) })
    : found
}

export const openAiTranscription: TranscriptionProtocol = {
  fields: { file: "sent", language: "sent", prompt: "sent", temperature: "sent" },
  encode,
  decode,
  failure
}
