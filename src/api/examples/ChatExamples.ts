/** Requests and answers of `POST /v1/chat/completions` for the published document. */
import type { ChatCompletion, ChatCompletionChunk, CompletionUsage, RoutingMetadata } from "../ChatCompletion.ts"
import type { ChatCompletionRequest } from "../ChatRequest.ts"
import type { DocumentedExamples } from "../OperationDocs.ts"

type Request = typeof ChatCompletionRequest.Encoded
type Answer = typeof ChatCompletion.Encoded
type Chunk = typeof ChatCompletionChunk.Encoded

const weather: NonNullable<Request["tools"]>[number] = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city now.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
}

const person: Request["response_format"] = {
  type: "json_schema",
  json_schema: {
    name: "person",
    schema: {
      type: "object",
      properties: { name: { type: "string" }, age: { type: "integer" } },
      required: ["name", "age"],
      additionalProperties: false
    }
  }
}

/** A red pixel: an example must not depend on another host. */
const pixel =
  "data:image/png;base64," +
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

const requestBodies = {
  routed: { model: "svc-auto", messages: [{ role: "user", content: "Why is the sky blue?" }] },
  streamed: { model: "gpt-5-mini", messages: [{ role: "user", content: "Why is the sky blue?" }], stream: true },
  tools: {
    model: "svc-auto",
    messages: [{ role: "user", content: "What is the weather in Lisbon?" }],
    tools: [weather]
  },
  tool_result: {
    model: "svc-auto",
    messages: [
      { role: "user", content: "What is the weather in Lisbon?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_8fX2", type: "function", function: { name: "get_weather", arguments: '{"city":"Lisbon"}' } }
        ]
      },
      { role: "tool", tool_call_id: "call_8fX2", content: "21 °C, clear" }
    ],
    tools: [weather]
  },
  json: {
    model: "svc-auto",
    messages: [{ role: "user", content: "Ada Lovelace died at 36. Who is this about?" }],
    response_format: person
  },
  reasoning: {
    model: "svc-auto",
    messages: [{ role: "user", content: "How many primes are there below 100?" }],
    reasoning: { effort: "low" },
    max_completion_tokens: 2_000
  },
  image: {
    model: "svc-auto",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Which colour is this?" },
          { type: "image_url", image_url: { url: pixel } }
        ]
      }
    ]
  },
  session: {
    model: "svc-auto",
    messages: [
      {
        role: "system",
        content: "You answer questions about our returns policy.",
        cache_control: { type: "ephemeral" }
      },
      { role: "user", content: "Can I return shoes that I have worn?" }
    ],
    session_id: "conversation-4711",
    metadata: { call_name: "support-chat" }
  }
} satisfies { readonly [name: string]: Request }

export const chatRequests: DocumentedExamples = {
  routed: { summary: "Let the gateway choose", value: requestBodies.routed },
  streamed: { summary: "Stream from a named model", value: requestBodies.streamed },
  tools: { summary: "Offer a tool", value: requestBodies.tools },
  tool_result: { summary: "Send back a tool's result", value: requestBodies.tool_result },
  json: { summary: "JSON by a schema", value: requestBodies.json },
  reasoning: { summary: "Think, but not much", value: requestBodies.reasoning },
  image: { summary: "Ask about an image", value: requestBodies.image },
  session: { summary: "One session, cached and labelled", value: requestBodies.session }
}

const envelope = <const Kind extends string>(object: Kind) => ({
  id: "chatcmpl-01a203b4-b71a-76fe-9c67-e2d507f95a68",
  object,
  created: 1_795_358_504,
  model: "gpt-5-mini",
  system_fingerprint: "fp_6acf5c230d86"
})

const usage = (tokens: { input: number; output: number; reasoning: number }, cost: number): CompletionUsage => ({
  prompt_tokens: tokens.input,
  completion_tokens: tokens.output,
  total_tokens: tokens.input + tokens.output,
  cost,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: tokens.reasoning }
})

const routed: RoutingMetadata = { routed: true, routed_model: "gpt-5-mini", routing_latency_ms: 1.03 }
const direct: RoutingMetadata = { routed: false, routed_model: null, routing_latency_ms: null }

type Message = Answer["choices"][0]["message"]
type FinishReason = Answer["choices"][0]["finish_reason"]

const answer = (message: Partial<Message>, reason: FinishReason, used: CompletionUsage): Answer => ({
  ...envelope("chat.completion"),
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: null, refusal: null, ...message },
      logprobs: null,
      finish_reason: reason
    }
  ],
  usage: used,
  svc: routed
})

const toolCall = {
  id: "call_8fX2",
  type: "function",
  function: { name: "get_weather", arguments: '{"city":"Lisbon"}' }
} as const

export const chatAnswers: DocumentedExamples = {
  text: {
    summary: "An answer",
    value: answer(
      { content: "Air scatters short wavelengths of sunlight more than long ones, so blue reaches us from all over." },
      "stop",
      usage({ input: 14, output: 150, reasoning: 128 }, 0.000_303_5)
    )
  },
  tool_call: {
    summary: "A call of a tool",
    value: answer({ tool_calls: [toolCall] }, "tool_calls", usage({ input: 52, output: 25, reasoning: 0 }, 0.000_063))
  },
  json: {
    summary: "JSON by a schema",
    value: answer(
      { content: '{"name":"Ada Lovelace","age":36}' },
      "stop",
      usage({ input: 61, output: 14, reasoning: 0 }, 0.000_043_25)
    )
  }
}

const chunk = (
  delta: Chunk["choices"][0]["delta"],
  more: Partial<Chunk> & { readonly reason?: FinishReason } = {}
): { event: "message"; data: string } => {
  const { reason = null, ...members } = more
  const body: Chunk = {
    ...envelope("chat.completion.chunk"),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
    ...members
  }
  return { event: "message", data: JSON.stringify(body) }
}

/** The events of one stream, in order. */
export const chatChunks: DocumentedExamples = {
  first: {
    summary: "The first chunk has the role and where the request went",
    value: chunk({ role: "assistant", content: "" }, { svc: direct })
  },
  text: { summary: "What the model says, piece by piece", value: chunk({ content: "Air scatters" }) },
  more: { summary: "Another piece", value: chunk({ content: " blue light." }) },
  last: {
    summary: "The last chunk has the finish reason, the usage and what was charged",
    value: chunk(
      {},
      { reason: "stop", usage: usage({ input: 14, output: 134, reasoning: 128 }, 0.000_271_5), svc: direct }
    )
  }
}
