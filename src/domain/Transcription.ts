/**
 * A transcription in the gateway's own form: the uploaded file, its options, and the resulting text. The whole file
 * stays in memory, because it has to be sent again when the first provider fails.
 */
import type { Usage } from "./Usage.ts"

/** The file name extensions that the contract accepts, in lower case. */
export const audioExtensions = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"] as const
export type AudioExtension = (typeof audioExtensions)[number]

export interface AudioFile {
  /** The file name that the client sent. Providers infer the format from its extension. */
  readonly name: string
  readonly extension: AudioExtension
  readonly bytes: Uint8Array
}

/** How long audio plays, and where that is known from. */
export interface AudioLength {
  /** Whole milliseconds, at least 1. */
  readonly millis: number
  /**
   * `header`: exact. `size`: estimated from the size. `broken_header`: also estimated, as the WAV header is unusable.
   */
  readonly basis: "header" | "size" | "broken_header"
}

export interface TranscriptionRequest {
  readonly file: AudioFile
  readonly length: AudioLength
  /** ISO 639-1 code. When it is absent, the model detects the language. */
  readonly language?: string
  readonly prompt?: string
  /** 0 to 1. */
  readonly temperature: number
}

export interface Transcript {
  readonly text: string
  /** The tokens that the provider reported; `undefined` when it reported none, or only the length of the audio. */
  readonly usage: Usage | undefined
}
