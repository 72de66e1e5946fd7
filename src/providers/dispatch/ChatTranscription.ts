/**
 * Transcription by a model that converses: a request that is answered with the transcript and nothing else, and what
 * such an answer is worth. Half a transcript is a failure, because nobody could tell where it ends.
 */
import { Result } from "effect"

import { type CompletionEvent, fold } from "../../domain/Completion.ts"
import { userRequest, type AudioFormat, type ChatRequest } from "../../domain/Conversation.ts"
import { Failure } from "../../domain/Failure.ts"
import type { AudioExtension, Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"

const formats = {
  flac: "flac",
  mp3: "mp3",
  mp4: "m4a",
  mpeg: "mp3",
  mpga: "mp3",
  m4a: "m4a",
  ogg: "ogg",
  wav: "wav",
  webm: "webm"
} as const satisfies Record<AudioExtension, AudioFormat>

/** What a chat model is asked. All of it is the user's: not every model that hears reads a system message. */
export const questionOf = (request: TranscriptionRequest): ChatRequest => ({
  ...userRequest(
    { type: "text", text: instructionOf(request) },
    { type: "audio", data: base64(request.file.bytes), format: formats[request.file.extension] }
  ),
  // A model that cannot do without thinks as little as it can.
  reasoning: { effort: "none", exclude: true },
  temperature: request.temperature
})

/** Where nothing is said, models like to invent something. */
const instructionOf = ({ language, prompt }: TranscriptionRequest): string =>
  [
    "Transcribe the audio verbatim, in the language that is spoken. Do not translate, summarize, answer or comment.",
    "Output only the transcript, without quotes, headings, speaker names or timestamps.",
    "If there is no speech in it, output nothing at all; never invent words.",
    ...(language ? [`The language spoken is ${language} (ISO 639-1).`] : []),
    ...(prompt ? [`Follow the vocabulary, spelling and style of this text, which is not in the audio:\n${prompt}`] : [])
  ].join("\n")

const base64 = ({ buffer, byteLength, byteOffset }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64")

/** The transcript in an answer, or why it is none. */
export const transcriptIn = (events: ReadonlyArray<CompletionEvent>): Result.Result<Transcript, Failure> => {
  const { content, finishReason, refusal, usage } = fold(events)
  if (finishReason === "content_filter" || refusal !== "")
    return Result.fail(unwilling("Refused", refusal === "" ? "The provider refused to transcribe the audio." : refusal))
  if (finishReason === "length")
    return Result.fail(unwilling("ContextTooLong", "The transcript is longer than this model can write."))
  return Result.succeed({ text: content.trim(), usage })
}

const unwilling = (tag: "Refused" | "ContextTooLong", message: string): Failure =>
  new Failure({ reason: { _tag: tag }, message })
