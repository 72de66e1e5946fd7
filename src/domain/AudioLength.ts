/**
 * How long audio plays. Exact for WAV, from its header; estimated from the size for everything else.
 *
 * Time is money where a model is priced by it, so a header is a claim to be checked: it never makes more audio than
 * there are bytes, and one that contradicts itself, or claims what nobody records, is worth no more than none. The work
 * is bounded by the number of chunks, not by the size.
 */
import type { AudioFormat } from "./Conversation.ts"
import type { AudioExtension, AudioFile, AudioLength } from "./Transcription.ts"
import { waveMillis } from "./WaveHeader.ts"

/** Bytes of a second of speech as people usually record it; lossy formats differ little in what they need for it. */
export const audioBytesPerSecond = {
  /** 16 kHz, 16 bit, one channel. */
  wav: 32_000,
  /** The same, packed to half. */
  flac: 16_000,
  /** 96 kbit/s. */
  mp3: 12_000,
  mpeg: 12_000,
  mpga: 12_000,
  mp4: 12_000,
  m4a: 12_000,
  /** 48 kbit/s: Opus, as browsers and messengers record. */
  ogg: 6_000,
  webm: 6_000,
  opus: 6_000
} as const satisfies Record<AudioExtension | AudioFormat, number>

/** The length of a file that is not empty: at least a millisecond. */
export const lengthOf = ({ bytes, extension }: AudioFile): AudioLength => {
  const exact = extension === "wav" ? waveMillis(bytes) : undefined
  if (exact !== undefined) return { millis: Math.max(1, Math.round(exact)), basis: "header" }
  const estimate = Math.max(1, Math.round((bytes.byteLength / audioBytesPerSecond[extension]) * 1_000))
  return { millis: estimate, basis: extension === "wav" ? "broken_header" : "size" }
}
