/**
 * Reads from the chunks of a WAV file how long it plays: RIFF, RIFX (big-endian), RF64 and BW64 (64-bit sizes).
 *
 * It counts what a decoder would play: all `data` chunks, each as far as its bytes are present. Clients may pay by the
 * length, so the header is not trusted: one that is contradictory or implausible counts as no header.
 */

/** The most chunks that are read of one file. Audio workstations write about a dozen. */
const maxChunks = 256

const sampleRates = { min: 1_000, max: 768_000 }
const maxChannels = 64
const maxSampleBits = 64
/** Plausible bytes per second of compressed audio, from the slowest speech codecs to the fastest codecs of films. */
const compressedRates = { min: 500, max: 80_000 }

/** Values of `wFormatTag`, which names the encoding of the samples. */
const tags = { pcm: 1, msAdpcm: 2, float: 3, aLaw: 6, muLaw: 7, imaAdpcm: 0x11, gsm: 0x31, extensible: 0xfffe } as const

/** GSM 06.10 in a WAV file has one channel, in blocks of this size. */
const gsmBlock = { bytes: 65, samples: 320 }

/** The first four characters of a file. In the 64-bit forms, a `ds64` chunk at the start holds the true size. */
const forms = ["RIFF", "RIFX", "RF64", "BW64"]

/** The size that a writer leaves when it cannot seek back to fill it in: the data goes on to the end of the file. */
const unknownSize = 0xffff_ffff

interface Format {
  readonly tag: number
  readonly channels: number
  readonly sampleRate: number
  readonly byteRate: number
  /** Bytes per frame (one sample of every channel) or, for compressed audio, per block. */
  readonly blockAlign: number
  readonly sampleBits: number
}

/** What the chunks of a file contain. */
interface Chunks {
  format: Format | undefined
  /** Bytes of all `data` chunks together; `undefined` when there is none. */
  dataBytes: number | undefined
  /** The number of frames in the `fact` chunk of compressed audio. */
  factFrames: number | undefined
}

/** The length in milliseconds, not rounded; `undefined` when this is not a WAV file or its header is unusable. */
export const waveMillis = (bytes: Uint8Array): number | undefined => {
  const { dataBytes, factFrames, format } = chunksOf(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (format === undefined || dataBytes === undefined || !isPlausible(format)) return undefined
  const frames = framesOf(format, dataBytes, factFrames)
  return frames === undefined ? undefined : (frames * 1_000) / format.sampleRate
}

/**
 * Finds nothing in a file that is not WAV, that has more chunks than `maxChunks`, or whose audio comes before its
 * format, which no player can play.
 */
const chunksOf = (view: DataView): Chunks => {
  const nothing: Chunks = { format: undefined, dataBytes: undefined, factFrames: undefined }
  const end = view.byteLength
  const form = end < 12 ? "" : nameAt(view, 0)
  if (!forms.includes(form) || nameAt(view, 8) !== "WAVE") return nothing
  const littleEndian = form !== "RIFX"
  const found = { ...nothing }
  let size64: number | undefined
  let chunks = 0
  for (let at = 12; at + 8 <= end;) {
    if (++chunks > maxChunks) return nothing
    const name = nameAt(view, at)
    const start = at + 8
    const stated = view.getUint32(at + 4, littleEndian)
    let size = stated
    if (name === "data") {
      if (found.format === undefined) return nothing
      size = size64 ?? stated
      size64 = undefined
      if (size === 0 || size >= unknownSize) size = end - start
      found.dataBytes = (found.dataBytes ?? 0) + Math.min(size, end - start)
    } else if (start + size > end) {
      break
    } else if (name === "fmt " && size >= 16) {
      // Like players, this goes by the first format chunk.
      found.format ??= formatAt(view, start, size, littleEndian)
    } else if (name === "fact" && size >= 4) {
      found.factFrames ??= view.getUint32(start, littleEndian)
    } else if (name === "ds64" && size >= 16 && chunks === 1 && form.endsWith("64")) {
      size64 = Number(view.getBigUint64(start + 8, littleEndian))
    }
    at = start + size + (size % 2)
  }
  return found
}

const nameAt = (view: DataView, at: number): string =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3))

const formatAt = (view: DataView, at: number, size: number, littleEndian: boolean): Format => {
  const tag = view.getUint16(at, littleEndian)
  return {
    // In the extensible format the actual tag is the first field of a 16-byte identifier.
    tag: tag === tags.extensible && size >= 40 ? view.getUint32(at + 24, littleEndian) : tag,
    channels: view.getUint16(at + 2, littleEndian),
    sampleRate: view.getUint32(at + 4, littleEndian),
    byteRate: view.getUint32(at + 8, littleEndian),
    blockAlign: view.getUint16(at + 12, littleEndian),
    sampleBits: view.getUint16(at + 14, littleEndian)
  }
}

const isWithin = ({ max, min }: { readonly min: number; readonly max: number }, value: number): boolean =>
  value >= min && value <= max

const isPlausible = ({ blockAlign, channels, sampleRate }: Format): boolean =>
  isWithin(sampleRates, sampleRate) && isWithin({ min: 1, max: maxChannels }, channels) && blockAlign > 0

const framesOf = (format: Format, dataBytes: number, factFrames: number | undefined): number | undefined => {
  const { blockAlign, channels, sampleBits, tag } = format
  switch (tag) {
    case tags.pcm:
    case tags.float:
      return isWithin({ min: 1, max: maxSampleBits }, sampleBits)
        ? uncompressed(format, dataBytes, Math.ceil(sampleBits / 8))
        : undefined
    case tags.aLaw:
    case tags.muLaw:
      return uncompressed(format, dataBytes, 1)
    case tags.msAdpcm: {
      const header = 7 * channels
      return inBlocks(dataBytes, blockAlign, header, (bytes) => 2 + Math.floor((2 * bytes) / channels))
    }
    case tags.imaAdpcm: {
      const header = 4 * channels
      return inBlocks(dataBytes, blockAlign, header, (bytes) => 1 + 8 * Math.floor(bytes / header))
    }
    case tags.gsm:
      return channels === 1 && blockAlign === gsmBlock.bytes
        ? Math.floor(dataBytes / gsmBlock.bytes) * gsmBlock.samples
        : undefined
    case tags.extensible:
      return undefined
    default:
      return compressed(format, dataBytes, factFrames)
  }
}

/** Decoders go by the size of a sample, so a block size that does not match it is a contradiction. */
const uncompressed = ({ blockAlign, channels }: Format, dataBytes: number, sampleBytes: number): number | undefined =>
  blockAlign === channels * sampleBytes ? Math.floor(dataBytes / blockAlign) : undefined

/**
 * Frames by the size of the blocks, not by the number of samples that the header claims. The last block may be short.
 */
const inBlocks = (
  dataBytes: number,
  blockAlign: number,
  blockHeader: number,
  framesIn: (bytes: number) => number
): number | undefined => {
  if (blockAlign <= blockHeader) return undefined
  const lastBytes = dataBytes % blockAlign
  const lastFrames = lastBytes < blockHeader ? 0 : framesIn(lastBytes - blockHeader)
  return Math.floor(dataBytes / blockAlign) * framesIn(blockAlign - blockHeader) + lastFrames
}

/** Frames of an unknown codec: from the number of frames if that is plausible, else from the average byte rate. */
const compressed = ({ byteRate, sampleRate }: Format, dataBytes: number, factFrames = 0): number | undefined => {
  if (isWithin(compressedRates, (dataBytes * sampleRate) / factFrames)) return factFrames
  return isWithin(compressedRates, byteRate) ? (dataBytes / byteRate) * sampleRate : undefined
}
