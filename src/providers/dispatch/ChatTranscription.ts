/**
 * Transcription by a chat model that takes audio: the request that asks for a transcript and nothing else, and the
 * transcript in its answer. An incomplete transcript is a failure, because a reader could not see that text is missing.
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

/** The chat request. It is a single user message, because not every model that takes audio takes a system message. */
export const transcriptionChat = (request: TranscriptionRequest): ChatRequest => ({
  ...userRequest(
    { type: "text", text: instructionOf(request) },
    { type: "audio", data: base64(request.file.bytes), format: formats[request.file.extension] }
  ),
  // A model that cannot switch reasoning off reasons as little as it can.
  reasoning: { effort: "none", exclude: true },
  temperature: request.temperature
})

/** Models tend to invent words where nobody speaks, so the text forbids that explicitly. */
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

/** The transcript in an answer. Fails if the content was refused or the answer was cut off. */
export const transcriptOf = (events: ReadonlyArray<CompletionEvent>): Result.Result<Transcript, Failure> => {
  const { content, finishReason, refusal, usage } = fold(events)
  if (finishReason === "content_filter" || refusal !== "")
    return Result.fail(failed("Refused", refusal === "" ? "The provider refused to transcribe the audio." : refusal))
  if (finishReason === "length")
    return Result.fail(failed("ContextTooLong", "The transcript is longer than this model can write."))
  return Result.succeed({ text: content.trim(), usage })
}

const failed = (tag: "Refused" | "ContextTooLong", message: string): Failure =>
  new Failure({ reason: { _tag: tag }, message })
