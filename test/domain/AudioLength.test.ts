import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { audioBytesPerSecond, audioLengthOf } from "../../src/domain/AudioLength.ts"
import { type AudioExtension, audioExtensions } from "../../src/domain/Transcription.ts"
import { readText } from "../support/SourceTree.ts"
import { fileOf, inOrder, speech, type WaveFormat, waveOf } from "../support/WaveFile.ts"
import recorded from "./wav-headers.json" with { type: "json" }

const lengthAs = (extension: AudioExtension, bytes: Uint8Array) =>
  audioLengthOf({ name: `a.${extension}`, extension, bytes })
const wav = (bytes: Uint8Array) => lengthAs("wav", bytes)
const { chunk, fact, format, longSize } = inOrder(true)
const second = chunk("data", new Uint8Array(32_000))

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Junk = Schema.Array(
  Schema.Struct({ name: Schema.Literals(["JUNK", "LIST", "bext", "fact", "id3 ", "\0\0\0\0"]), size: int(4, 51) })
).check(Schema.isMaxLength(5))

/** All uncompressed encodings: format tag and bits per sample. */
const kinds = [
  [1, 8],
  [1, 12],
  [1, 16],
  [1, 20],
  [1, 24],
  [1, 32],
  [3, 32],
  [3, 64],
  [6, 8],
  [7, 8]
] as const

const Written = Schema.Struct({
  form: Schema.Literals(["RIFF", "RIFX", "RF64", "BW64"]),
  kind: Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
  extensible: Schema.Boolean,
  channels: int(1, 8),
  sampleRate: int(1_000, 192_000),
  frames: int(1, 3_000),
  before: Junk,
  after: Junk,
  /** The size of the data as the header states it. */
  stated: Schema.Literals(["right", "zero", "unknown", "too much"]),
  cut: Schema.Boolean
})

describe("The length of a WAV file", () => {
  it("equals what soxi measures on files that real programs wrote", () => {
    assert.isAbove(recorded.files.length, 40)
    for (const { audioBytes, file, head, seconds, tail } of recorded.files) {
      const bytes = Buffer.concat([
        Buffer.from(head, "base64"),
        new Uint8Array(audioBytes),
        Buffer.from(tail, "base64")
      ])
      assert.deepStrictEqual(wav(bytes), { millis: Math.round(seconds * 1_000), basis: "header" }, file)
    }
  })

  it.prop(
    "is frames divided by rate, whatever other chunks the file has and whatever data size it states",
    { written: Written },
    ({ written: { after, before, channels, cut, extensible, form, frames, kind, sampleRate, stated } }) => {
      const write = inOrder(form !== "RIFX")
      const [tag, sampleBits] = kinds[kind]
      const data = new Uint8Array(frames * channels * Math.ceil(sampleBits / 8)).fill(0x64)
      const size = { right: data.length, zero: 0, unknown: 0xffff_ffff, "too much": data.length + 99 }[stated]
      const others = (junk: typeof before) => junk.map(({ name, size }) => write.chunk(name, new Uint8Array(size)))
      const is64 = form.endsWith("64")
      const whole = fileOf(
        form,
        ...(is64 ? [write.longSize(size === 0xffff_ffff ? data.length : size)] : []),
        ...others(before),
        write.format({ tag, channels, sampleRate, sampleBits, extensible }),
        ...others(before),
        write.chunk("data", data, is64 ? 0xffff_ffff : size)
      )
      // A chunk of odd size has a byte of padding, which must not count as audio when data extends to the end of the
      // file.
      const padding = stated === "right" || (is64 && stated === "unknown") ? 0 : data.length % 2
      const bytes = stated === "right" && !cut ? Buffer.concat([whole, ...others(after)]) : whole
      const ends = bytes.subarray(0, bytes.length - padding)
      assert.deepStrictEqual(wav(ends), {
        millis: Math.max(1, Math.round((frames * 1_000) / sampleRate)),
        basis: "header"
      })
    },
    { arbitrary: { runs: 500 } }
  )

  it.prop(
    "is plausible for the number of bytes, however the header is corrupted",
    { at: int(0, 79), byte: int(0, 255), also: int(0, 79), other: int(0, 255) },
    ({ also, at, byte, other }) => {
      const bytes = fileOf("RIFF", format({ ...speech, extensible: true }), fact(500), second)
      bytes[at] = byte
      bytes[also] = other
      const { basis, millis } = wav(bytes)
      assert.isTrue(Number.isInteger(millis) && millis >= 1 && millis <= bytes.length * 5, `${millis}`)
      assert.include(["header", "broken_header"], basis)
    },
    { arbitrary: { runs: 1_000 } }
  )

  it("counts every data chunk by the first format, and only bytes that are present", () => {
    const half = chunk("data", new Uint8Array(16_000))
    const slow = format({ ...speech, sampleRate: 1_000 })
    const cases: ReadonlyArray<readonly [string, Uint8Array, number]> = [
      ["two data chunks", fileOf("RIFF", format(speech), chunk("data", new Uint8Array(2)), second), 1_000],
      ["a second format", fileOf("RIFF", format(speech), slow, second), 1_000],
      ["a cut file", fileOf("RIFF", format(speech), second).subarray(0, 16_044), 500],
      [
        "a stated size of hours",
        fileOf("RIFF", format(speech), chunk("data", new Uint8Array(16_000), 0x7fff_ffff)),
        500
      ],
      ["hours in 64 bits", fileOf("RF64", longSize(2 ** 50), format(speech), half), 500],
      ["64 bits in a plain file", fileOf("RIFF", longSize(2), format(speech), second), 1_000],
      ["a cut chunk before the audio ends", fileOf("RIFF", format(speech), half, chunk("LIST", half, 2 ** 30)), 500],
      ["no audio yet", fileOf("RIFF", format(speech), chunk("data", new Uint8Array(0))), 1],
      ["half a frame", waveOf({ ...speech, channels: 2 }, 3), 1],
      ["a byte rate that is wrong", waveOf({ ...speech, byteRate: 1 }, 32_000), 1_000],
      ["bytes in the middle of others", Buffer.concat([second, waveOf(speech, 32_000)]).subarray(second.length), 1_000]
    ]
    for (const [name, bytes, millis] of cases) assert.deepStrictEqual(wav(bytes), { millis, basis: "header" }, name)
  })

  it("of compressed audio goes by blocks, else by a plausible number of frames or byte rate", () => {
    const tagged = (tag: number, more: Partial<WaveFormat>) => ({ ...speech, sampleBits: 4, tag, ...more })
    const mp3 = tagged(0x55, { blockAlign: 1, byteRate: 4_000 })
    const cases: ReadonlyArray<readonly [string, Uint8Array, number]> = [
      // Two blocks of 500 frames, and a third that is cut after 100.
      ["ms adpcm", waveOf(tagged(2, { blockAlign: 256 }), 512 + 56), (1_100 * 1_000) / 16_000],
      ["ima adpcm", waveOf(tagged(0x11, { blockAlign: 256 }), 512 + 4 + 4), ((505 * 2 + 9) * 1_000) / 16_000],
      ["gsm", waveOf(tagged(0x31, { blockAlign: 65 }), 650), (3_200 * 1_000) / 16_000],
      ["a fact of one frame", fileOf("RIFF", format(mp3), fact(1), second), 8_000],
      ["a fact that can be", fileOf("RIFF", format({ ...mp3, byteRate: 0 }), fact(160_000), second), 10_000]
    ]
    for (const [name, bytes, millis] of cases) {
      assert.deepStrictEqual(wav(bytes), { millis: Math.round(millis), basis: "header" }, name)
    }
  })

  const changed = (more: Partial<WaveFormat>) => fileOf("RIFF", format({ ...speech, ...more }), second)
  const junk = Array.from({ length: 300 }, () => chunk("JUNK", new Uint8Array(0)))
  const broken: Record<string, Uint8Array> = {
    "another file": Buffer.from("ID3\u0004 this is an mp3 by another name, and quite a long one at that"),
    "one byte": new Uint8Array(1),
    "no WAVE": Buffer.from("RIFF\0\0\0\0AVI fmt "),
    "no format": fileOf("RIFF", second),
    "audio before its format": fileOf("RIFF", second, format(speech)),
    "no audio": fileOf("RIFF", format(speech)),
    "a cut format": fileOf("RIFF", format(speech)).subarray(0, 30),
    "a short format": fileOf("RIFF", chunk("fmt ", new Uint8Array(14).fill(1)), second),
    "an extensible format without its tag": fileOf(
      "RIFF",
      chunk("fmt ", Buffer.from("feff0100803e0000007d000002001000", "hex")),
      second
    ),
    "hundreds of chunks": fileOf("RIFF", ...junk, format(speech), second),
    "no sample rate": changed({ sampleRate: 0 }),
    "a sample rate that is too low": changed({ sampleRate: 1 }),
    "a sample rate that is too high": changed({ sampleRate: 768_001 }),
    "no channels": changed({ channels: 0, blockAlign: 2 }),
    "too many channels": changed({ channels: 65 }),
    "no blocks": changed({ blockAlign: 0 }),
    "a block size that does not match its samples": changed({ blockAlign: 65_534 }),
    "samples without bits": changed({ sampleBits: 0, blockAlign: 2 }),
    "samples of 128 bits": changed({ sampleBits: 128 }),
    "blocks of nothing but header": changed({ tag: 0x11, blockAlign: 4 }),
    "gsm in stereo": changed({ tag: 0x31, channels: 2, blockAlign: 65 }),
    "a codec without a byte rate": changed({ tag: 0x55, blockAlign: 1, byteRate: 0 }),
    "a codec with an implausible byte rate": changed({ tag: 0x55, blockAlign: 1, byteRate: 100_000_000 })
  }
  for (const [name, bytes] of Object.entries(broken)) {
    it(`is estimated, with that basis, for a broken header: ${name}`, () => {
      assert.deepStrictEqual(wav(bytes), {
        millis: Math.max(1, Math.round(bytes.length / 32)),
        basis: "broken_header"
      })
    })
  }
})

describe("The length of any other file", () => {
  it("is estimated from its size, by the usual byte rate of its format", () => {
    const seconds = (extension: AudioExtension) => lengthAs(extension, new Uint8Array(96_000)).millis / 1_000
    assert.deepStrictEqual(
      Object.fromEntries(audioExtensions.filter((one) => one !== "wav").map((one) => [one, seconds(one)])),
      { flac: 6, mp3: 8, mp4: 8, mpeg: 8, mpga: 8, m4a: 8, ogg: 16, webm: 16 }
    )
    const rows = (readText("docs/transcription.md") ?? "").matchAll(/^\| (`\w+`.*) \| (\d+) \|$/gm)
    const documented = [...rows].flatMap(([, names = "", rate]) =>
      Array.from(names.matchAll(/`(\w+)`/g), ([, name]) => [name, (Number(rate) * 1_000) / 8])
    )
    assert.deepStrictEqual(
      Object.fromEntries(documented),
      Object.fromEntries(audioExtensions.map((one) => [one, audioBytesPerSecond[one]]))
    )
    assert.deepStrictEqual(lengthAs("ogg", new Uint8Array(1)), { millis: 1, basis: "size" })
  })
})
