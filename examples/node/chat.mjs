// A plain answer with the `openai` package. Reads TOLLGATE_URL and TOLLGATE_KEY.
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

// Without a model, or with `svc-auto`, the gateway chooses one.
const answer = await client.chat.completions.create({
  model: "svc-auto",
  messages: [{ role: "user", content: "Why is the sky blue?" }]
})

console.log(answer.choices[0].message.content)
console.log(`${answer.model} answered, for ${answer.usage.cost} USD`)
