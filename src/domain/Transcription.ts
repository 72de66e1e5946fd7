/**
 * Speech to text, as the gateway understands it: the client's file and wishes, and what a model made of them. The file
 * is held whole, because a second provider must be able to get it when the first one fails.
 */
import type { Usage } from "./Usage.ts"

/** The file name extensions of the contract, in lower case. */
export const audioExtensions = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"] as const
export type AudioExtension = (typeof audioExtensions)[number]

export interface AudioFile {
  /** As the client sent it. Providers tell formats by its extension. */
  readonly name: string
  readonly extension: AudioExtension
  readonly bytes: Uint8Array
}

/** How long audio plays. */
export interface AudioLength {
  /** Whole milliseconds, at least 1. */
  readonly millis: number
  /** `header`: exact. `size`: estimated from the size. `broken_header`: a WAV whose header says nothing useful. */
  readonly basis: "header" | "size" | "broken_header"
}

export interface TranscriptionRequest {
  readonly file: AudioFile
  readonly length: AudioLength
  /** ISO 639-1. Left out: the model finds out. */
  readonly language?: string
  readonly prompt?: string
  /** 0 to 1. */
  readonly temperature: number
}

export interface Transcript {
  readonly text: string
  /** As the provider counted; `undefined` when it said nothing, or only how long the audio is. */
  readonly usage: Usage | undefined
}
