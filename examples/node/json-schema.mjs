// An answer that conforms to a JSON schema. Reads TOLLGATE_URL and TOLLGATE_KEY.
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

const answer = await client.chat.completions.create({
  model: "svc-auto",
  messages: [{ role: "user", content: "Name a city and the number of people who live there." }],
  response_format: {
    type: "json_schema",
    json_schema: {
      name: "city",
      strict: true,
      schema: {
        type: "object",
        properties: { name: { type: "string" }, inhabitants: { type: "integer" } },
        required: ["name", "inhabitants"],
        additionalProperties: false
      }
    }
  }
})

const city = JSON.parse(answer.choices[0].message.content)
console.log(city.name, city.inhabitants)
