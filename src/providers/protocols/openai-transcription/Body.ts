/**
 * The form of `POST /audio/transcriptions`, as OpenAI's API reference (openai-node 7.55) describes it; other servers
 * copy it with fewer fields. What a server accepts is in its dialect. A misspelt field does not compile.
 */
import type { AudioExtension } from "../../../domain/Transcription.ts"
import type { MultipartForm } from "../Protocol.ts"

/** Fields in the order in which they are sent. Forms know only text, so numbers are written out. */
export type FormFields = {
  readonly model: string
  /** ISO 639-1. */
  readonly language?: string
  /** Words that are likely to occur in the recording. */
  readonly prompt?: string
  /** From 0 to 1. */
  readonly temperature?: string
  /** Always `json`. */
  readonly response_format?: string
}

/** The whole form. */
export interface RequestBody extends MultipartForm {
  readonly fields: FormFields
  readonly file: MultipartForm["file"] & { readonly field: "file"; readonly name: `audio.${AudioExtension}` }
}
