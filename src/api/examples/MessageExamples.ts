/** Requests and answers of `POST /v1/messages` for the published document. */
import type { RoutingMetadata } from "../ChatCompletion.ts"
import type { MessageAnswer, MessageStreamEvent, MessageTokensCount, MessageUsage } from "../Message.ts"
import type { MessagesRequest, MessageTokensRequest } from "../MessagesRequest.ts"
import type { DocumentedExamples } from "../OperationDocs.ts"

type Request = typeof MessagesRequest.Encoded
type Event = typeof MessageStreamEvent.Encoded

const weather: NonNullable<Request["tools"]>[number] = {
  name: "get_weather",
  description: "The weather in a city now.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const requestBodies = {
  routed: { model: "svc-auto", max_tokens: 1_024, messages: [{ role: "user", content: "Why is the sky blue?" }] },
  streamed: {
    model: "claude-haiku-4-5",
    max_tokens: 1_024,
    messages: [{ role: "user", content: "Why is the sky blue?" }],
    stream: true
  },
  tool_result: {
    model: "svc-auto",
    max_tokens: 1_024,
    system: [{ type: "text", text: "You speak of the weather.", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: "What is the weather in Lisbon?" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_8fX2", name: "get_weather", input: { city: "Lisbon" } }]
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_8fX2", content: "21 °C, clear" }] }
    ],
    tools: [weather]
  },
  thinking: {
    model: "claude-sonnet-4-6",
    max_tokens: 4_096,
    messages: [{ role: "user", content: "How many primes are there below 100?" }],
    thinking: { type: "adaptive" },
    output_config: { effort: "low" }
  }
} satisfies { readonly [name: string]: Request }

export const messageRequests: DocumentedExamples = {
  routed: { summary: "Let the gateway choose", value: requestBodies.routed },
  streamed: { summary: "Stream from a named model", value: requestBodies.streamed },
  tool_result: { summary: "Send back a tool's result", value: requestBodies.tool_result },
  thinking: { summary: "Think, but not much", value: requestBodies.thinking }
}

const counted: typeof MessageTokensRequest.Encoded = {
  model: "claude-haiku-4-5",
  messages: [{ role: "user", content: "Why is the sky blue?" }]
}

export const tokenRequests: DocumentedExamples = { prompt: { summary: "A prompt", value: counted } }

const count: typeof MessageTokensCount.Encoded = { input_tokens: 10 }

export const messageTokens: DocumentedExamples = { count: { summary: "Its tokens", value: count } }

const usage = (input: number, output: number, cost: number): MessageUsage => ({
  input_tokens: input,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { thinking_tokens: 0 },
  server_tool_use: null,
  service_tier: null,
  cost
})

const routed: RoutingMetadata = { routed: true, routed_model: "claude-haiku-4-5", routing_latency_ms: 1.03 }
const direct: RoutingMetadata = { routed: false, routed_model: null, routing_latency_ms: null }
const stop = { stop_sequence: null, stop_details: null, container: null } as const
const head = {
  id: "msg_01a203b4-b71a-76fe-9c67-e2d507f95a68",
  type: "message",
  role: "assistant",
  model: "claude-haiku-4-5"
} as const

const text: typeof MessageAnswer.Encoded = {
  ...head,
  content: [
    {
      type: "text",
      text: "Air scatters short wavelengths of sunlight more than long ones, so blue reaches us from all over.",
      citations: null
    }
  ],
  stop_reason: "end_turn",
  ...stop,
  usage: usage(14, 22, 0.000_124),
  svc: routed
}

const toolUse: typeof MessageAnswer.Encoded = {
  ...text,
  content: [{ type: "tool_use", id: "toolu_8fX2", name: "get_weather", input: { city: "Lisbon" } }],
  stop_reason: "tool_use",
  usage: usage(52, 25, 0.000_177)
}

export const messageAnswers: DocumentedExamples = {
  text: { summary: "An answer", value: text },
  tool_use: { summary: "A call of a tool", value: toolUse }
}

const event = (data: Event) => ({ event: data.type, data: JSON.stringify(data) })

const { cost: _final, ...estimate } = usage(14, 0, 0)

/** The events of one stream, in order. */
export const messageEvents: DocumentedExamples = {
  start: {
    summary: "The first event has the message without its content",
    value: event({
      type: "message_start",
      message: { ...head, content: [], stop_reason: null, ...stop, usage: estimate, svc: direct }
    })
  },
  block: {
    summary: "A block begins",
    value: event({
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "", citations: null }
    })
  },
  text: {
    summary: "What the model says, piece by piece",
    value: event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Air scatters" } })
  },
  block_end: { summary: "The block ends", value: event({ type: "content_block_stop", index: 0 }) },
  end: {
    summary: "Why the answer ended, the usage and what was charged",
    value: event({
      type: "message_delta",
      delta: { stop_reason: "end_turn", ...stop },
      usage: usage(14, 22, 0.000_124),
      svc: direct
    })
  },
  stop: { summary: "The last event", value: event({ type: "message_stop" }) }
}
