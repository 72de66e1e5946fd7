/**
 * How long a WAV plays, from its chunks: RIFF, RIFX (big-endian), RF64 and BW64 (sizes of 64 bits).
 *
 * It counts what a decoder would play: every `data` chunk, and of each the bytes that are there. A header is a claim of
 * whoever pays by it, so one that contradicts itself, or claims what nobody records, counts as none.
 */

/** Chunks of one file. Workstations write a dozen. */
const maxChunks = 256

const sampleRates = { min: 1_000, max: 768_000 }
const maxChannels = 64
const maxSampleBits = 64
/** Bytes per second of compressed audio, from the slowest codecs of speech to the fastest of films. */
const compressedRates = { min: 500, max: 80_000 }

/** `wFormatTag`: what the samples are. */
const tags = { pcm: 1, msAdpcm: 2, float: 3, aLaw: 6, muLaw: 7, imaAdpcm: 0x11, gsm: 0x31, extensible: 0xfffe } as const

/** GSM 06.10 as WAV has it: one channel in blocks of two frames. */
const gsmBlock = { bytes: 65, samples: 320 }

/** First names of a file. The true size of what is named for 64 bits is in a `ds64` chunk, the first of all. */
const forms = ["RIFF", "RIFX", "RF64", "BW64"]

/** What writers leave as a size that could not go back to fill it in. Bytes until the end of the file. */
const unknownSize = 0xffff_ffff

interface Format {
  readonly tag: number
  readonly channels: number
  readonly sampleRate: number
  readonly byteRate: number
  /** Bytes of a frame, which is one sample of every channel, or of a block of compressed audio. */
  readonly blockAlign: number
  readonly sampleBits: number
}

/** What a file says, chunk by chunk. */
interface Chunks {
  format: Format | undefined
  /** Of all `data` chunks together; `undefined` before the first. */
  dataBytes: number | undefined
  /** From the `fact` chunk, which compressed audio has. */
  factFrames: number | undefined
}

/** Milliseconds, not rounded; `undefined` when the bytes are no WAV, or the header says nothing useful. */
export const waveMillis = (bytes: Uint8Array): number | undefined => {
  const { dataBytes, factFrames, format } = chunksOf(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (format === undefined || dataBytes === undefined || !isBelievable(format)) return undefined
  const frames = framesOf(format, dataBytes, factFrames)
  return frames === undefined ? undefined : (frames * 1_000) / format.sampleRate
}

/** Nothing of a file that is no WAV, has more chunks than can be, or puts audio before its format, as no player can. */
const chunksOf = (view: DataView): Chunks => {
  const nothing: Chunks = { format: undefined, dataBytes: undefined, factFrames: undefined }
  const end = view.byteLength
  const form = end < 12 ? "" : nameAt(view, 0)
  if (!forms.includes(form) || nameAt(view, 8) !== "WAVE") return nothing
  const littleEndian = form !== "RIFX"
  const found = { ...nothing }
  let longSize: number | undefined
  let chunks = 0
  for (let at = 12; at + 8 <= end;) {
    if (++chunks > maxChunks) return nothing
    const name = nameAt(view, at)
    const start = at + 8
    const stated = view.getUint32(at + 4, littleEndian)
    let size = stated
    if (name === "data") {
      if (found.format === undefined) return nothing
      size = longSize ?? stated
      longSize = undefined
      if (size === 0 || size >= unknownSize) size = end - start
      found.dataBytes = (found.dataBytes ?? 0) + Math.min(size, end - start)
    } else if (start + size > end) {
      break
    } else if (name === "fmt " && size >= 16) {
      // The first one counts, for players too.
      found.format ??= formatAt(view, start, size, littleEndian)
    } else if (name === "fact" && size >= 4) {
      found.factFrames ??= view.getUint32(start, littleEndian)
    } else if (name === "ds64" && size >= 16 && chunks === 1 && form.endsWith("64")) {
      longSize = Number(view.getBigUint64(start + 8, littleEndian))
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
    // The extensible form has the tag that matters in the first field of an id of 16 bytes.
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

const isBelievable = ({ blockAlign, channels, sampleRate }: Format): boolean =>
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

/** Decoders go by the size of a sample, so a block that is not made of these is a contradiction. */
const uncompressed = ({ blockAlign, channels }: Format, dataBytes: number, sampleBytes: number): number | undefined =>
  blockAlign === channels * sampleBytes ? Math.floor(dataBytes / blockAlign) : undefined

/** The last block may be short. What the header says of samples in a block is a claim; its size decides. */
const inBlocks = (
  dataBytes: number,
  blockAlign: number,
  blockHeader: number,
  framesIn: (bytes: number) => number
): number | undefined => {
  if (blockAlign <= blockHeader) return undefined
  const rest = dataBytes % blockAlign
  const short = rest < blockHeader ? 0 : framesIn(rest - blockHeader)
  return Math.floor(dataBytes / blockAlign) * framesIn(blockAlign - blockHeader) + short
}

/** A codec that is not known here: the count of frames, else the average rate, whichever is first to be believed. */
const compressed = ({ byteRate, sampleRate }: Format, dataBytes: number, factFrames = 0): number | undefined => {
  if (isWithin(compressedRates, (dataBytes * sampleRate) / factFrames)) return factFrames
  return isWithin(compressedRates, byteRate) ? (dataBytes / byteRate) * sampleRate : undefined
}
