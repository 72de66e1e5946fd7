// A streamed answer with the `openai` package. Reads TOLLGATE_URL and TOLLGATE_KEY.
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

// A model by its name: it never changes, but any of its providers may answer.
const stream = await client.chat.completions.create({
  model: "gpt-5-mini",
  messages: [{ role: "user", content: "Why is the sky blue?" }],
  stream: true
})

for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? "")
  // The last chunk has the finish reason, and says what the answer used and cost.
  if (chunk.usage) console.log(`\n${chunk.usage.total_tokens} tokens, ${chunk.usage.cost} USD`)
}
