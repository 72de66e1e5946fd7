/**
 * Real speech, made and encoded by espeak-ng, sox and ffmpeg: every format of the contract is accepted, and the length
 * of a WAV file agrees with sox. Formats without an encoder on this machine are skipped, and the test run reports them.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterAll, assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"

import { audioExtensions } from "../../src/domain/Transcription.ts"
import { audioPart, field } from "../support/Multipart.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { layerGateway } from "../support/TestGateway.ts"
import { transcribe } from "../support/TranscriptionForms.ts"

const sentence = "The toll for this bridge is two dollars and fifty cents. Please have it ready."

const directory = mkdtempSync(join(tmpdir(), "tollgate-audio-"))
afterAll(() => rmSync(directory, { recursive: true }))
const inDirectory = (name: string) => join(directory, name)

type Tool = "espeak-ng" | "sox" | "ffmpeg"
type Command = readonly [tool: Tool, ...arguments_: ReadonlyArray<string>]

const run = ([tool, ...given]: Command) =>
  execFileSync(tool, given, { cwd: directory, stdio: ["ignore", "pipe", "ignore"] })

const isThere = (tool: Tool): boolean => spawnSync(tool, ["--version"]).error === undefined
const missing = new Set((["espeak-ng", "sox", "ffmpeg"] as const).filter((tool) => !isThere(tool)))

const speak: Command = ["espeak-ng", "-w", "speech.wav", sentence]

/** The command that makes `speech.<extension>` from `speech.wav`. */
const ffmpeg = (...given: ReadonlyArray<string>): Command => [
  "ffmpeg",
  "-v",
  "error",
  "-y",
  "-i",
  "speech.wav",
  ...given
]
const encoders: { readonly [Extension in (typeof audioExtensions)[number]]: Command } = {
  wav: speak,
  flac: ["sox", "speech.wav", "speech.flac"],
  ogg: ["sox", "speech.wav", "speech.ogg"],
  mp3: ["sox", "speech.wav", "speech.mp3"],
  mpga: ["sox", "speech.wav", "-t", "mp3", "speech.mpga"],
  mpeg: ffmpeg("-c:a", "mp2", "-ar", "44100", "-f", "mpeg", "speech.mpeg"),
  m4a: ffmpeg("-c:a", "aac", "speech.m4a"),
  mp4: ffmpeg("-c:a", "aac", "speech.mp4"),
  webm: ffmpeg("-c:a", "libopus", "speech.webm")
}

/** Variants of `speech.wav` that sox makes: rates, depths, channels and encodings that recorders write. */
const recordings: { readonly [name: string]: ReadonlyArray<string> } = {
  "as a telephone": ["-r", "8000", "-b", "16", "-c", "1"],
  "in 8 bits": ["-r", "11025", "-b", "8", "-e", "unsigned-integer"],
  "in 16 kHz": ["-r", "16000", "-b", "16"],
  "as a CD": ["-r", "44100", "-b", "16", "-c", "2"],
  "in a studio": ["-r", "48000", "-b", "24", "-c", "2"],
  "in 96 kHz and 32 bits": ["-r", "96000", "-b", "32", "-e", "signed-integer"],
  "in floats": ["-r", "22050", "-b", "32", "-e", "floating-point"],
  "in doubles": ["-r", "48000", "-b", "64", "-e", "floating-point"],
  "in six channels": ["-r", "48000", "-b", "16", "-c", "6"],
  "in mu-law": ["-r", "8000", "-e", "mu-law"],
  "in A-law": ["-r", "8000", "-e", "a-law"],
  "in Microsoft's ADPCM": ["-r", "22050", "-e", "ms-adpcm"],
  "in IMA ADPCM": ["-r", "22050", "-e", "ima-adpcm"],
  "in GSM": ["-r", "8000", "-e", "gsm-full-rate"],
  "with a title": ["--comment", "Title=Toll", "-r", "16000"],
  "in no time": ["-r", "16000", "trim", "0", "0.001"]
}

const transcript = "It is two dollars and fifty cents."

/** The answer to the upload of a file from the directory. */
const upload = Effect.fnUntraced(function* (name: string) {
  const content = readFileSync(inDirectory(name))
  const reply = yield* transcribe([audioPart({ filename: name, content }), field("prompt", `[say:${transcript}]`)])
  assert.strictEqual(reply.status, 200, reply.text)
  assert.strictEqual(reply.at("text"), transcript)
  return { bytes: content.length, seconds: Number(reply.at("usage.seconds")) }
})

const secondsBySox = (name: string): number =>
  Number(execFileSync("soxi", ["-D", name], { cwd: directory, stdio: ["ignore", "pipe", "ignore"] }).toString())

const assertSameMillis = (seconds: number, name: string) =>
  assert.strictEqual(Math.round(seconds * 1_000), Math.round(secondsBySox(name) * 1_000), name)

const gateway = Layer.unwrap(Effect.map(dataDirectory, (data) => layerGateway({ DATA_DIR: data })))

layer(gateway, { excludeTestServices: true, timeout: "3 minutes" })("Real audio [embedded]", (it) => {
  /**
   * Registers a test that needs speech, its length and this tool. Without them it is skipped, and its name says why.
   */
  const needing = (tool: Tool, name: string, test: Parameters<typeof it.effect>[1]) => {
    const lacking = [...missing].filter((one) => one !== "ffmpeg" || tool === "ffmpeg")
    if (lacking.length === 0) it.effect(name, test)
    // The encoder is not installed on this machine, and the name of the test says which.
    else it.effect.skip(`${name} [no ${lacking.join(", no ")}]`, test)
  }
  if (!missing.has("espeak-ng")) run(speak)

  for (const extension of audioExtensions) {
    const encoder = encoders[extension]
    needing(encoder[0], `goes through as ${extension}`, () =>
      Effect.gen(function* () {
        run(encoder)
        const { seconds } = yield* upload(`speech.${extension}`)
        // A length that is estimated from the size must have the right order of magnitude.
        const real = secondsBySox("speech.wav")
        assert.isTrue(seconds > real / 5 && seconds < real * 5, `${seconds} of ${real} seconds`)
        if (extension === "wav") assertSameMillis(seconds, "speech.wav")
      })
    )
  }

  needing("sox", "has its length to the millisecond when it is a WAV, however it was recorded", () =>
    Effect.gen(function* () {
      for (const [name, options] of Object.entries(recordings)) {
        const effect = options.indexOf("trim")
        const [format, effects] = effect < 0 ? [options, []] : [options.slice(0, effect), options.slice(effect)]
        run(["sox", "speech.wav", ...format, "recorded.wav", ...effects])
        const { seconds } = yield* upload("recorded.wav")
        assert.strictEqual(Math.round(seconds * 1_000), Math.round(secondsBySox("recorded.wav") * 1_000), name)
      }
    })
  )

  needing("sox", "has its length also when it was piped, and its header does not know the size", () =>
    Effect.gen(function* () {
      const whole = yield* upload("speech.wav")
      for (const [name, command] of [
        ["espeak", `espeak-ng --stdout "${sentence}"`],
        ["sox", "sox speech.wav -t wav - | cat"],
        ["sox", "cat speech.wav | sox -t wav - -t wav - | cat"]
      ] as const) {
        execFileSync("sh", ["-c", `${command} > piped.wav`], { cwd: directory, stdio: ["ignore", "pipe", "ignore"] })
        const piped = yield* upload("piped.wav")
        assert.approximately(piped.seconds, whole.seconds, 0.001, `${name} ${whole.bytes - piped.bytes}`)
      }
    })
  )
})
