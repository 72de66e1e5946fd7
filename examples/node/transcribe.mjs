// Speech to text with the `openai` package. Reads TOLLGATE_URL and TOLLGATE_KEY.
// Give the path of an audio file, or none to send one second of a tone.
import { createReadStream } from "node:fs"
import { fileURLToPath } from "node:url"

import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

const path = process.argv[2] ?? fileURLToPath(new URL("../audio/tone.wav", import.meta.url))
const transcription = await client.audio.transcriptions.create({
  file: createReadStream(path),
  model: "svc-auto",
  language: "en"
})

console.log(transcription.text)
console.log(`${transcription.usage.seconds} s of audio, ${transcription.usage.cost} USD`)
