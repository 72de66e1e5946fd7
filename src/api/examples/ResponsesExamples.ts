/** Requests and answers of `POST /v1/responses` for the published document. */
import type { DocumentedExamples } from "../OperationDocs.ts"
import type { ResponsesObject } from "../ResponsesAnswer.ts"
import type { ResponsesEvent } from "../ResponsesEvents.ts"
import type { ResponsesRequest } from "../ResponsesRequest.ts"

type Request = typeof ResponsesRequest.Encoded
type Answer = typeof ResponsesObject.Encoded

const weather: NonNullable<Request["tools"]>[number] = {
  type: "function",
  name: "get_weather",
  description: "The weather in a city now.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const question = "What is the weather in Lisbon?"
const call = { call_id: "call_8fX2", name: "get_weather", arguments: '{"city":"Lisbon"}' }

const requestBodies = {
  routed: { model: "svc-auto", input: "Why is the sky blue?" },
  streamed: { model: "gpt-5-mini", input: "Why is the sky blue?", stream: true },
  tools: { model: "svc-auto", input: question, tools: [weather] },
  tool_result: {
    model: "svc-auto",
    input: [
      { role: "user", content: question },
      { type: "function_call", ...call },
      { type: "function_call_output", call_id: call.call_id, output: "21 °C, clear" }
    ],
    tools: [weather]
  },
  json: {
    model: "svc-auto",
    input: "Ada Lovelace died at 36. Who is this about?",
    text: {
      format: {
        type: "json_schema",
        name: "person",
        schema: {
          type: "object",
          properties: { name: { type: "string" }, age: { type: "integer" } },
          required: ["name", "age"],
          additionalProperties: false
        }
      }
    }
  },
  reasoning: {
    model: "svc-auto",
    instructions: "Answer with a number.",
    input: "How many primes are there below 100?",
    reasoning: { effort: "low", summary: "auto" },
    max_output_tokens: 2_000
  }
} satisfies { readonly [name: string]: Request }

export const responsesRequests: DocumentedExamples = {
  routed: { summary: "Let the gateway choose", value: requestBodies.routed },
  streamed: { summary: "Stream from a named model", value: requestBodies.streamed },
  tools: { summary: "Offer a tool", value: requestBodies.tools },
  tool_result: { summary: "Send back a tool's result", value: requestBodies.tool_result },
  json: { summary: "JSON by a schema", value: requestBodies.json },
  reasoning: { summary: "Think, but not much", value: requestBodies.reasoning }
}

const id = "01a203b4-b71a-76fe-9c67-e2d507f95a68"

const begun: Answer = {
  id: `resp_${id}`,
  object: "response",
  created_at: 1_795_358_504,
  model: "gpt-5-mini",
  background: false,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  prompt_cache_retention: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: "default",
  store: false,
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: "disabled",
  user: null,
  svc: { routed: true, routed_model: "gpt-5-mini", routing_latency_ms: 1.03 },
  status: "in_progress",
  error: null,
  incomplete_details: null,
  output: [],
  usage: null
}

const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] }) as const

const message = (text: string): Answer["output"][number] => ({
  id: `msg_${id}_0`,
  type: "message",
  status: "completed",
  role: "assistant",
  content: [textPart(text)]
})

const completed = (
  output: Answer["output"],
  tokens: { input: number; output: number; reasoning: number },
  cost: number,
  more: Partial<Answer> = {}
): Answer => ({
  ...begun,
  ...more,
  status: "completed",
  output,
  usage: {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.output,
    cost
  }
})

export const responsesAnswers: DocumentedExamples = {
  text: {
    summary: "An answer",
    value: completed(
      [message("Air scatters short wavelengths of sunlight more than long ones, so blue reaches us from all over.")],
      { input: 14, output: 150, reasoning: 128 },
      0.000_303_5
    )
  },
  tool_call: {
    summary: "A call of a tool",
    value: completed(
      [{ id: `fc_${id}_0`, type: "function_call", status: "completed", ...call }],
      { input: 52, output: 25, reasoning: 0 },
      0.000_063,
      { tools: [{ ...weather, strict: false }] }
    )
  }
}

const direct: Partial<Answer> = { svc: { routed: false, routed_model: null, routing_latency_ms: null } }

const event = (value: typeof ResponsesEvent.Encoded): { event: "message"; data: string } => ({
  event: "message",
  data: JSON.stringify(value)
})

const place = { item_id: `msg_${id}_0`, output_index: 0, content_index: 0 }

/** Some events of one stream, in order. */
export const responsesEvents: DocumentedExamples = {
  created: {
    summary: "The first event has where the request went",
    value: event({ type: "response.created", sequence_number: 0, response: { ...begun, ...direct } })
  },
  text: {
    summary: "What the model says, piece by piece",
    value: event({
      type: "response.output_text.delta",
      sequence_number: 4,
      ...place,
      logprobs: [],
      delta: "Air scatters blue light."
    })
  },
  item: {
    summary: "An item that is complete",
    value: event({
      type: "response.output_item.done",
      sequence_number: 7,
      output_index: 0,
      item: message("Air scatters blue light.")
    })
  },
  completed: {
    summary: "The last event has the whole answer, the usage and what was charged",
    value: event({
      type: "response.completed",
      sequence_number: 8,
      response: completed(
        [message("Air scatters blue light.")],
        { input: 14, output: 134, reasoning: 128 },
        0.000_271_5,
        direct
      )
    })
  }
}
