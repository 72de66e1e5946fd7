/**
 * The sandbox as an OpenAI Responses server, at the base URL of its chat completions: replies become response objects,
 * or named events of a stream. Errors have the format of chat completions.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { serverSentEvent, halves, type SimulatedEvent, type SimulatedProtocol } from "../../SimulatedProtocol.ts"
import { type ReplyToolCall, type SimulatedReply, totalPromptTokens } from "../../SimulatedReply.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"
import * as OpenAiChat from "../openai-chat/Response.ts"
import { readRequest, encryptedReasoning } from "./Request.ts"

const usageOf = ({ outputTokens, promptTokens, reasoning }: SimulatedReply): JsonObject => {
  const { cacheRead, cacheWrite1h, cacheWrite5m } = promptTokens
  const inputTokens = totalPromptTokens(promptTokens)
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoning.length },
    total_tokens: inputTokens + outputTokens
  }
}

/** The reason why a response is incomplete. */
const incompleteReasons = {
  stop: undefined,
  tool_calls: undefined,
  length: "max_output_tokens",
  content_filter: "content_filter"
} as const satisfies Record<SimulatedReply["finishReason"], string | undefined>

const envelope = (request: SimulatedRequest, reply: SimulatedReply): JsonObject => ({
  id: `resp_${reply.id}`,
  object: "response",
  created_at: reply.createdSeconds,
  model: request.model,
  error: null,
  store: false
})

const reasoningItem = (reply: SimulatedReply): JsonObject => ({
  id: `rs_${reply.id}`,
  type: "reasoning",
  summary: [{ type: "summary_text", text: reply.reasoning.join("") }],
  encrypted_content: encryptedReasoning(reply.id)
})

const messageItem = (reply: SimulatedReply): JsonObject => ({
  id: `msg_${reply.id}`,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: reply.text.join(""), annotations: [] }]
})

const callItem = (call: ReplyToolCall): JsonObject => ({
  id: `fc_${call.id}`,
  type: "function_call",
  status: "completed",
  call_id: `call_${call.id}`,
  name: call.name,
  arguments: call.arguments
})

const outputOf = (reply: SimulatedReply): ReadonlyArray<JsonObject> => [
  ...(reply.reasoning.length === 0 ? [] : [reasoningItem(reply)]),
  ...(reply.text.length === 0 ? [] : [messageItem(reply)]),
  ...reply.toolCalls.map(callItem)
]

const body = (request: SimulatedRequest, reply: SimulatedReply): JsonObject => {
  const reason = incompleteReasons[reply.finishReason]
  return {
    ...envelope(request, reply),
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    output: outputOf(reply),
    usage: usageOf(reply)
  }
}

const events = (request: SimulatedRequest, reply: SimulatedReply): ReadonlyArray<SimulatedEvent> => {
  let sequence = 0
  let index = -1
  const event = (name: string, fields: JsonObject, isToken = false): SimulatedEvent => {
    const type = `response.${name}`
    return { frame: serverSentEvent({ type, sequence_number: sequence++, ...fields }, type), isToken }
  }
  /** An output item: `initial` holds the members that differ while it is still being written. */
  const item = (
    complete: JsonObject,
    initial: JsonObject,
    deltasAt: (at: JsonObject) => ReadonlyArray<SimulatedEvent>
  ): ReadonlyArray<SimulatedEvent> => {
    const output_index = ++index
    return [
      event("output_item.added", { output_index, item: { ...complete, ...initial } }),
      ...deltasAt({ output_index, item_id: complete["id"] }),
      event("output_item.done", { output_index, item: complete })
    ]
  }
  const deltas = (name: string, at: JsonObject, texts: ReadonlyArray<string>) =>
    texts.map((delta) => event(`${name}.delta`, { ...at, delta }, true))
  const initial = { ...envelope(request, reply), status: "in_progress", output: [], usage: null }
  const complete = body(request, reply)
  return [
    event("created", { response: initial }),
    event("in_progress", { response: initial }),
    ...(reply.reasoning.length === 0
      ? []
      : item(reasoningItem(reply), { summary: [], encrypted_content: "" }, (at) =>
          deltas("reasoning_summary_text", { ...at, summary_index: 0 }, reply.reasoning)
        )),
    ...(reply.text.length === 0
      ? []
      : item(messageItem(reply), { content: [], status: "in_progress" }, (at) =>
          deltas("output_text", { ...at, content_index: 0 }, reply.text)
        )),
    ...reply.toolCalls.flatMap((call) =>
      item(callItem(call), { arguments: "", status: "in_progress" }, (at) =>
        deltas("function_call_arguments", at, halves(call.arguments))
      )
    ),
    event(String(complete["status"]), { response: complete })
  ]
}

export const simulatedProtocol: SimulatedProtocol = {
  basePath: "/openai/v1",
  path: "/openai/v1/responses",
  readRequest,
  body,
  events,
  error: OpenAiChat.simulatedProtocol.error,
  errorEvent: (error) => serverSentEvent({ type: "error", ...OpenAiChat.simulatedProtocol.error(error).body }, "error")
}
