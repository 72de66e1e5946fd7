/**
 * How long audio plays: exact for WAV, from its header, and estimated from the file size for all other formats.
 *
 * Some models are priced by the time of audio, so the header of a file is not simply trusted. It never counts for more
 * audio than the file has bytes, and an implausible or contradictory header counts as no header. The work is bounded by
 * the number of chunks in the file, not by its size.
 */
import type { AudioFormat } from "./Conversation.ts"
import type { AudioExtension, AudioFile, AudioLength } from "./Transcription.ts"
import { waveMillis } from "./WaveHeader.ts"

/** Bytes per second of speech in a typical recording of each format. The lossy formats differ little. */
export const audioBytesPerSecond = {
  /** 16 kHz, 16 bit, one channel. */
  wav: 32_000,
  /** Half of the uncompressed size. */
  flac: 16_000,
  /** 96 kbit/s. */
  mp3: 12_000,
  mpeg: 12_000,
  mpga: 12_000,
  mp4: 12_000,
  m4a: 12_000,
  /** 48 kbit/s: Opus, which browsers and messengers record. */
  ogg: 6_000,
  webm: 6_000,
  opus: 6_000
} as const satisfies Record<AudioExtension | AudioFormat, number>

/** The length of a file that is not empty. It is at least one millisecond. */
export const audioLengthOf = ({ bytes, extension }: AudioFile): AudioLength => {
  const exact = extension === "wav" ? waveMillis(bytes) : undefined
  if (exact !== undefined) return { millis: Math.max(1, Math.round(exact)), basis: "header" }
  const estimate = Math.max(1, Math.round((bytes.byteLength / audioBytesPerSecond[extension]) * 1_000))
  return { millis: estimate, basis: extension === "wav" ? "broken_header" : "size" }
}
