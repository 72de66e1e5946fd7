/** The sandbox as an Anthropic Messages server: replies become messages, or the named events of a stream. */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { thinkingSignature } from "../../Digest.ts"
import {
  type ErrorReply,
  type SimulatedError,
  serverSentEvent,
  halves,
  type SimulatedEvent,
  type SimulatedProtocol
} from "../../SimulatedProtocol.ts"
import type { SimulatedReply } from "../../SimulatedReply.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"
import { readRequest } from "./Request.ts"

const inputUsage = ({ promptTokens: tokens }: SimulatedReply): JsonObject => ({
  input_tokens: tokens.fresh,
  cache_read_input_tokens: tokens.cacheRead,
  cache_creation_input_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
  cache_creation: {
    ephemeral_5m_input_tokens: tokens.cacheWrite5m,
    ephemeral_1h_input_tokens: tokens.cacheWrite1h
  }
})

const stopReasons = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal"
} as const satisfies Record<SimulatedReply["finishReason"], string>

const stopOf = ({ finishReason, stopSequence }: SimulatedReply): JsonObject => ({
  stop_reason: stopSequence === undefined ? stopReasons[finishReason] : "stop_sequence",
  stop_sequence: stopSequence ?? null
})

const head = (request: SimulatedRequest, reply: SimulatedReply): JsonObject => ({
  id: `msg_${reply.id}`,
  type: "message",
  role: "assistant",
  model: request.model
})

const body = (request: SimulatedRequest, reply: SimulatedReply): JsonObject => {
  const thinking = reply.reasoning.join("")
  return {
    ...head(request, reply),
    content: [
      ...(thinking === "" ? [] : [{ type: "thinking", thinking, signature: thinkingSignature(thinking) }]),
      ...(reply.text.length === 0 ? [] : [{ type: "text", text: reply.text.join("") }]),
      ...reply.toolCalls.map((call) => ({
        type: "tool_use",
        id: `toolu_${call.id}`,
        name: call.name,
        input: JSON.parse(call.arguments)
      }))
    ],
    ...stopOf(reply),
    usage: { ...inputUsage(reply), output_tokens: reply.outputTokens }
  }
}

const events = (request: SimulatedRequest, reply: SimulatedReply): ReadonlyArray<SimulatedEvent> => {
  const event = (type: string, fields: JsonObject = {}): SimulatedEvent => ({
    frame: serverSentEvent({ type, ...fields }, type),
    isToken: false
  })
  const token = (index: number, delta: JsonObject): SimulatedEvent => ({
    ...event("content_block_delta", { index, delta }),
    isToken: true
  })
  let index = -1
  const block = (
    content: JsonObject,
    deltas: (index: number) => ReadonlyArray<SimulatedEvent>
  ): ReadonlyArray<SimulatedEvent> => {
    index++
    return [
      event("content_block_start", { index, content_block: content }),
      ...deltas(index),
      event("content_block_stop", { index })
    ]
  }
  const signature = thinkingSignature(reply.reasoning.join(""))
  const thinking = (at: number): ReadonlyArray<SimulatedEvent> => [
    ...reply.reasoning.map((text) => token(at, { type: "thinking_delta", thinking: text })),
    event("content_block_delta", { index: at, delta: { type: "signature_delta", signature } })
  ]
  return [
    event("message_start", {
      message: {
        ...head(request, reply),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...inputUsage(reply), output_tokens: 1 }
      }
    }),
    event("ping"),
    ...(reply.reasoning.length === 0 ? [] : block({ type: "thinking", thinking: "", signature: "" }, thinking)),
    ...(reply.text.length === 0
      ? []
      : block({ type: "text", text: "" }, (at) => reply.text.map((text) => token(at, { type: "text_delta", text })))),
    ...reply.toolCalls.flatMap((call) =>
      block({ type: "tool_use", id: `toolu_${call.id}`, name: call.name, input: {} }, (at) =>
        halves(call.arguments).map((half) => token(at, { type: "input_json_delta", partial_json: half }))
      )
    ),
    event("message_delta", { delta: stopOf(reply), usage: { output_tokens: reply.outputTokens } }),
    event("message_stop")
  ]
}

const typesByStatus: { readonly [status: number]: string } = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error"
}

const errorOf = (
  error: SimulatedError
): { readonly status: number; readonly type: string; readonly message: string } => {
  switch (error._tag) {
    case "Status": {
      const { status } = error
      const type = typesByStatus[status] ?? (status < 500 ? "invalid_request_error" : "api_error")
      return { status, type, message: `The sandbox was asked for status ${status}.` }
    }
    case "Invalid":
      return { status: 400, type: "invalid_request_error", message: error.message }
    case "Overloaded":
      return { status: 529, type: "overloaded_error", message: "Overloaded" }
    case "Quota":
      return {
        status: 400,
        type: "invalid_request_error",
        message: "Your credit balance is too low to access the Anthropic API."
      }
    case "Context":
      return { status: 400, type: "invalid_request_error", message: "prompt is too long: 2 tokens > 1 maximum" }
  }
}

const errorReply = (simulated: SimulatedError): ErrorReply => {
  const { status, ...error } = errorOf(simulated)
  return { status, body: { type: "error", error, request_id: "req_sandbox" } }
}

export const simulatedProtocol: SimulatedProtocol = {
  basePath: "/anthropic",
  path: "/anthropic/v1/messages",
  readRequest,
  body,
  events,
  error: errorReply,
  errorEvent: (error) => serverSentEvent(errorReply(error).body, "error")
}
