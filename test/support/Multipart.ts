/** Multipart forms as bytes, so that a suite can send forms that no client library would send. */

import { waveOf } from "./WaveFile.ts"

export interface PartSpec {
  readonly name: string
  readonly content: string | Uint8Array
  readonly filename?: string
  readonly type?: string
  /** Replaces the headers that are written otherwise. */
  readonly head?: string
}

export interface Multipart {
  readonly contentType: string
  readonly body: Buffer<ArrayBuffer>
}

const headOf = ({ filename, head, name, type }: PartSpec): string =>
  head ??
  `content-disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}` +
    (type === undefined ? "" : `\r\ncontent-type: ${type}`)

export const multipart = (parts: ReadonlyArray<PartSpec>, boundary = "----tollgate7MA4YWxkTrZu0gW"): Multipart => ({
  contentType: `multipart/form-data; boundary=${boundary}`,
  body: Buffer.concat([
    ...parts.flatMap((part) => [
      Buffer.from(`--${boundary}\r\n${headOf(part)}\r\n\r\n`),
      Buffer.from(part.content),
      Buffer.from("\r\n")
    ]),
    Buffer.from(`--${boundary}--\r\n`)
  ])
})

/** A silent WAV file: 8 kHz, 16 bit, one channel. */
export const silence = (millis = 500): Buffer<ArrayBuffer> =>
  Buffer.from(waveOf({ tag: 1, channels: 1, sampleRate: 8_000, sampleBits: 16 }, millis * 16))

export const audioPart = (part: Partial<PartSpec> = {}): PartSpec => ({
  name: "file",
  filename: "speech.wav",
  content: silence(),
  ...part
})

/** A text field. */
export const field = (name: string, content: string | Uint8Array): PartSpec => ({ name, content })
