// A loop of tool calls with the `openai` package. Reads TOLLGATE_URL and TOLLGATE_KEY.
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: `${process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"}/v1`,
  apiKey: process.env.TOLLGATE_KEY
})

const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    }
  }
]
const getWeather = ({ city }) => ({ city, degrees: 21, sky: "clear" })

const messages = [{ role: "user", content: "What is the weather in Lisbon?" }]

// The first turn has to call a tool; after that the model decides.
let toolChoice = "required"
while (true) {
  const answer = await client.chat.completions.create({ messages, tools, tool_choice: toolChoice })
  const { message } = answer.choices[0]
  // The message goes back as it came, with its `reasoning_details` if it has any.
  messages.push(message)
  if (!message.tool_calls) {
    console.log(message.content)
    break
  }
  for (const call of message.tool_calls) {
    const result = getWeather(JSON.parse(call.function.arguments))
    messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(result) })
  }
  toolChoice = "auto"
}
