/** The sandbox as an Anthropic Messages server. */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { Prompt, Reply } from "../../Prompt.ts"
import { type SimulatedError, frame, halves, type StreamPiece, type SimulatedProtocol } from "../../Wire.ts"
import { read, signatureOf } from "./Request.ts"

const inputUsage = ({ promptTokens: tokens }: Reply): JsonObject => ({
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
} as const satisfies Record<Reply["finish"], string>

const stopOf = ({ finish, stoppedAt }: Reply): JsonObject => ({
  stop_reason: stoppedAt === undefined ? stopReasons[finish] : "stop_sequence",
  stop_sequence: stoppedAt ?? null
})

const head = (prompt: Prompt, reply: Reply): JsonObject => ({
  id: `msg_${reply.id}`,
  type: "message",
  role: "assistant",
  model: prompt.model
})

const answer = (prompt: Prompt, reply: Reply): JsonObject => {
  const thinking = reply.thinking.join("")
  return {
    ...head(prompt, reply),
    content: [
      ...(thinking === "" ? [] : [{ type: "thinking", thinking, signature: signatureOf(thinking) }]),
      ...(reply.text.length === 0 ? [] : [{ type: "text", text: reply.text.join("") }]),
      ...reply.calls.map((call) => ({
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

const pieces = (prompt: Prompt, reply: Reply): ReadonlyArray<StreamPiece> => {
  const event = (type: string, fields: JsonObject = {}): StreamPiece => ({
    frame: frame({ type, ...fields }, type),
    isToken: false
  })
  const token = (index: number, delta: JsonObject): StreamPiece => ({
    ...event("content_block_delta", { index, delta }),
    isToken: true
  })
  let index = -1
  const block = (
    content: JsonObject,
    deltas: (index: number) => ReadonlyArray<StreamPiece>
  ): ReadonlyArray<StreamPiece> => {
    index++
    return [
      event("content_block_start", { index, content_block: content }),
      ...deltas(index),
      event("content_block_stop", { index })
    ]
  }
  const signature = signatureOf(reply.thinking.join(""))
  const thinking = (at: number): ReadonlyArray<StreamPiece> => [
    ...reply.thinking.map((text) => token(at, { type: "thinking_delta", thinking: text })),
    event("content_block_delta", { index: at, delta: { type: "signature_delta", signature } })
  ]
  return [
    event("message_start", {
      message: {
        ...head(prompt, reply),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...inputUsage(reply), output_tokens: 1 }
      }
    }),
    event("ping"),
    ...(reply.thinking.length === 0 ? [] : block({ type: "thinking", thinking: "", signature: "" }, thinking)),
    ...(reply.text.length === 0
      ? []
      : block({ type: "text", text: "" }, (at) => reply.text.map((text) => token(at, { type: "text_delta", text })))),
    ...reply.calls.flatMap((call) =>
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
  complaint: SimulatedError
): { readonly status: number; readonly type: string; readonly message: string } => {
  switch (complaint._tag) {
    case "Status": {
      const { status } = complaint
      const type = typesByStatus[status] ?? (status < 500 ? "invalid_request_error" : "api_error")
      return { status, type, message: `The sandbox was asked for status ${status}.` }
    }
    case "Invalid":
      return { status: 400, type: "invalid_request_error", message: complaint.message }
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

const complain = (complaint: SimulatedError): { readonly status: number; readonly body: JsonObject } => {
  const { status, ...error } = errorOf(complaint)
  return { status, body: { type: "error", error, request_id: "req_sandbox" } }
}

export const anthropicWire: SimulatedProtocol = {
  base: "/anthropic",
  path: "/anthropic/v1/messages",
  read,
  answer,
  pieces,
  complain,
  complainInStream: (complaint) => frame(complain(complaint).body, "error")
}
