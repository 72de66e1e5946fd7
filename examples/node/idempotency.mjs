// The same request twice with one Idempotency-Key: one answer, one charge. Reads TOLLGATE_URL and TOLLGATE_KEY.
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

const body = { messages: [{ role: "user", content: "Why is the sky blue?" }] }
const headers = { "Idempotency-Key": crypto.randomUUID() }

const first = await client.chat.completions.create(body, { headers })
const { data: second, response } = await client.chat.completions.create(body, { headers }).withResponse()

console.log(`Same answer: ${first.id === second.id}`)
console.log(`Replayed: ${response.headers.get("idempotent-replayed")}`)
