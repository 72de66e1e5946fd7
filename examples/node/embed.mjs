// The text that is closest to a question, with the `openai` package. Reads TOLLGATE_URL and TOLLGATE_KEY.
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

const question = "How much is the toll?"
const texts = ["The bridge is closed on Mondays.", "How much is the toll?", "Lorries take the tunnel."]
const answer = await client.embeddings.create({ model: "text-embedding-3-small", input: [question, ...texts] })

const [asked, ...vectors] = answer.data.map(({ embedding }) => embedding)
// Vectors have length 1, so this is the cosine of the angle between them.
const likeness = (vector) => vector.reduce((sum, value, index) => sum + value * asked[index], 0)
const closest = texts.toSorted((a, b) => likeness(vectors[texts.indexOf(b)]) - likeness(vectors[texts.indexOf(a)]))[0]

console.log(`Closest: ${closest}`)
console.log(`${asked.length} numbers in a vector, ${answer.usage.cost} USD`)
