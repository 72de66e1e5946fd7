/** A large upload, and the embedded engine. */
import { join } from "node:path"

import type { BenchCall } from "./BenchLoad.ts"
import type { BenchScenario } from "./BenchScenario.ts"
import { plainCall } from "./ChatScenarios.ts"
import { always, compared } from "./Comparison.ts"

const megabytes = 10
const sampleRate = 16_000

/** A file of silence: 16 bits, one channel. */
const wave = (bytes: number): Buffer => {
  const header = Buffer.alloc(44)
  header.write("RIFF", 0)
  header.writeUInt32LE(bytes - 8, 4)
  header.write("WAVEfmt ", 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write("data", 36)
  header.writeUInt32LE(bytes - 44, 40)
  return Buffer.concat([header, Buffer.alloc(bytes - 44)])
}

const upload = (bytes: number): BenchCall => {
  const boundary = "bench-boundary"
  const part = (name: string, rest: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${rest}`
  const file = '; filename="speech.wav"\r\ncontent-type: audio/wav\r\n\r\n'
  const head = part("model", "\r\n\r\ngpt-4o-transcribe\r\n") + part("file", file)
  return {
    path: "/v1/audio/transcriptions",
    body: Buffer.concat([Buffer.from(head), wave(bytes), Buffer.from(`\r\n--${boundary}--\r\n`)]),
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` }
  }
}

const transcription: BenchScenario = {
  summary: "the transcription of a file of this many megabytes",
  count: megabytes,
  run: (bench, count) =>
    // Four at once, of which a gateway takes eight.
    compared("transcription", bench, [bench.floor, bench.gateway], always(upload(count * 1e6)), {
      pace: { callers: 4 }
    })
}

const embedded: BenchScenario = {
  summary: "plain requests on the embedded engine, which works in the gateway's process",
  run: async (bench) => {
    const gateway = await bench.startGateway("embedded", { DATA_DIR: join(bench.directory, "embedded") })
    const figures = await compared("embedded", bench, [bench.gateway, gateway], always(plainCall))
    await gateway.stop()
    return figures
  }
}

export const otherScenarios = { transcription, embedded } as const
