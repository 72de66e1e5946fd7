/**
 * The sandbox as an OpenAI chat completions server: replies become chat completions or their chunks. Reasoning is sent
 * as `reasoning_content`, as many compatible servers do.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import {
  type ErrorReply,
  type SimulatedError,
  serverSentEvent,
  halves,
  type SimulatedEvent,
  type SimulatedProtocol
} from "../../SimulatedProtocol.ts"
import { type SimulatedReply, totalPromptTokens } from "../../SimulatedReply.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"
import { readRequest } from "./Request.ts"

const usageOf = ({ promptTokens, outputTokens, reasoning }: SimulatedReply): JsonObject => ({
  prompt_tokens: totalPromptTokens(promptTokens),
  completion_tokens: outputTokens,
  total_tokens: totalPromptTokens(promptTokens) + outputTokens,
  prompt_tokens_details: { cached_tokens: promptTokens.cacheRead, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reasoning.length, audio_tokens: 0 }
})

const callsOf = (reply: SimulatedReply): ReadonlyArray<JsonObject> =>
  reply.toolCalls.map((call) => ({
    id: `call_${call.id}`,
    type: "function",
    function: { name: call.name, arguments: call.arguments }
  }))

const envelope = (request: SimulatedRequest, reply: SimulatedReply, object: string): JsonObject => ({
  id: `chatcmpl-${reply.id}`,
  object,
  created: reply.createdSeconds,
  model: request.model,
  system_fingerprint: "fp_sandbox"
})

const body = (request: SimulatedRequest, reply: SimulatedReply): JsonObject => ({
  ...envelope(request, reply, "chat.completion"),
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: reply.toolCalls.length > 0 ? null : reply.text.join(""),
        refusal: null,
        ...(reply.reasoning.length > 0 && { reasoning_content: reply.reasoning.join("") }),
        ...(reply.toolCalls.length > 0 && { tool_calls: callsOf(reply) })
      },
      logprobs: null,
      finish_reason: reply.finishReason
    }
  ],
  usage: usageOf(reply)
})

const events = (request: SimulatedRequest, reply: SimulatedReply): ReadonlyArray<SimulatedEvent> => {
  const head = envelope(request, reply, "chat.completion.chunk")
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    serverSentEvent({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })
  const token = (delta: JsonObject): SimulatedEvent => ({ frame: chunk(delta), isToken: true })
  const calls = reply.toolCalls.flatMap((call, index) => [
    token({
      tool_calls: [{ index, id: `call_${call.id}`, type: "function", function: { name: call.name, arguments: "" } }]
    }),
    ...halves(call.arguments).map((half) => token({ tool_calls: [{ index, function: { arguments: half } }] }))
  ])
  return [
    { frame: chunk({ role: "assistant", content: "", refusal: null }), isToken: false },
    ...reply.reasoning.map((text) => token({ reasoning_content: text })),
    ...reply.text.map((text) => token({ content: text })),
    ...calls,
    { frame: chunk({}, reply.finishReason), isToken: false },
    { frame: serverSentEvent({ ...head, choices: [], usage: usageOf(reply) }), isToken: false },
    { frame: serverSentEvent("[DONE]"), isToken: false }
  ]
}

const typesByStatus: { readonly [status: number]: string } = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error"
}

const errorOf = (error: SimulatedError) => {
  switch (error._tag) {
    case "Status": {
      const { status } = error
      const type = typesByStatus[status] ?? (status < 500 ? "invalid_request_error" : "server_error")
      const code = status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_api_key" : null
      return { status, type, code, message: `The sandbox was asked for status ${status}.` }
    }
    case "Invalid":
      return { status: 400, type: "invalid_request_error", code: null, message: error.message }
    case "Overloaded":
      return { status: 503, type: "server_error", code: "overloaded", message: "The engine is currently overloaded." }
    case "Quota":
      return {
        status: 429,
        type: "insufficient_quota",
        code: "insufficient_quota",
        message: "You exceeded your current quota, please check your plan and billing details."
      }
    case "Context":
      return {
        status: 400,
        type: "invalid_request_error",
        code: "context_length_exceeded",
        message: "This model's maximum context length is 1 tokens. Please reduce the length of the messages."
      }
  }
}

const errorReply = (simulated: SimulatedError): ErrorReply => {
  const { status, ...error } = errorOf(simulated)
  return { status, body: { error: { ...error, param: null } } }
}

export const simulatedProtocol: SimulatedProtocol = {
  basePath: "/openai/v1",
  path: "/openai/v1/chat/completions",
  readRequest,
  body,
  events,
  error: errorReply,
  errorEvent: (error) => serverSentEvent(errorReply(error).body)
}
