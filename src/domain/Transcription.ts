/**
 * A transcription in the gateway's own form: the uploaded file, its options, and the resulting text. The whole file
 * stays in memory, because it has to be sent again when the first provider fails.
 */
import type { Usage } from "./Usage.ts"

/** The file name extensions that the contract accepts, in lower case. */
export const audioExtensions = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"] as const
export type AudioExtension = (typeof audioExtensions)[number]

/** An uploaded file that is not empty and has a supported extension. */
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

/** What a model made of the audio. */
export interface Transcript {
  readonly text: string
  /** The tokens that the provider reported; `undefined` when it reported none, or only the length of the audio. */
  readonly usage: Usage | undefined
}

/**
 * The two-letter language codes of ISO 639-1, as its registration authority publishes them. Codes that were withdrawn,
 * such as `iw`, are not included.
 */
const languageCodes = new Set(
  `aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
  et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki
  kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no
  nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te
  tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu`.split(/\s+/)
)

/** True for a code in lower case, which is how the standard writes it. */
export const isLanguageCode = (text: string): boolean => languageCodes.has(text)
