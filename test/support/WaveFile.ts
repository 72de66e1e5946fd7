/** WAV files with any header, correct or not, for suites about the length of audio. */

export interface WaveFormat {
  readonly tag: number
  readonly channels: number
  readonly sampleRate: number
  readonly sampleBits: number
  /** Default: the value that follows from the other fields. */
  readonly blockAlign?: number
  readonly byteRate?: number
  /** True: the tag is written into an id of 16 bytes (`WAVE_FORMAT_EXTENSIBLE`). */
  readonly extensible?: boolean
}

export const speech: WaveFormat = { tag: 1, channels: 1, sampleRate: 16_000, sampleBits: 16 }

const number = (bits: 16 | 32 | 64, value: number, littleEndian: boolean): Uint8Array => {
  const view = new DataView(new ArrayBuffer(bits / 8))
  if (bits === 16) view.setUint16(0, value, littleEndian)
  else if (bits === 32) view.setUint32(0, value, littleEndian)
  else view.setBigUint64(0, BigInt(value), littleEndian)
  return new Uint8Array(view.buffer)
}

const joined = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(Buffer.concat(parts))

/** Functions that write the chunks of a file in one byte order. */
export const inOrder = (littleEndian: boolean) => {
  /** A chunk, padded to an even size. `stated`: the size in its header, which may be wrong. */
  const chunk = (name: string, body: Uint8Array, stated = body.byteLength): Uint8Array =>
    joined(Buffer.from(name, "latin1"), number(32, stated, littleEndian), body, new Uint8Array(body.byteLength % 2))
  const format = (given: WaveFormat): Uint8Array => {
    const blockAlign = given.blockAlign ?? given.channels * Math.ceil(given.sampleBits / 8)
    const plain = joined(
      number(16, given.extensible ? 0xfffe : given.tag, littleEndian),
      number(16, given.channels, littleEndian),
      number(32, given.sampleRate, littleEndian),
      number(32, given.byteRate ?? given.sampleRate * blockAlign, littleEndian),
      number(16, blockAlign, littleEndian),
      number(16, given.sampleBits, littleEndian)
    )
    if (!given.extensible) return chunk("fmt ", plain)
    const id = joined(number(32, given.tag, littleEndian), Buffer.from("00001000800000aa00389b71", "hex"))
    return chunk(
      "fmt ",
      joined(plain, number(16, 22, littleEndian), number(16, given.sampleBits, littleEndian), new Uint8Array(4), id)
    )
  }
  const longSize = (data: number): Uint8Array =>
    chunk("ds64", joined(new Uint8Array(8), number(64, data, littleEndian), new Uint8Array(12)))
  return { chunk, format, longSize, fact: (frames: number) => chunk("fact", number(32, frames, littleEndian)) }
}

/** A file of the form `RIFF` or `RIFX` with these chunks. */
export const fileOf = (form: string, ...chunks: ReadonlyArray<Uint8Array>): Uint8Array =>
  joined(Buffer.from(form, "latin1"), new Uint8Array(4), Buffer.from("WAVE", "latin1"), ...chunks)

/** A file with a correct header. `data`: the audio, or the number of its bytes. */
export const waveOf = (format: WaveFormat, data: number | Uint8Array): Uint8Array => {
  const { chunk, format: formatChunk } = inOrder(true)
  return fileOf("RIFF", formatChunk(format), chunk("data", typeof data === "number" ? new Uint8Array(data) : data))
}
