/** The sandbox as an OpenAI Responses server, at the same address as its chat completions. */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { ReplyToolCall, Prompt, Reply } from "../../Prompt.ts"
import { frame, halves, type StreamPiece, type SimulatedProtocol } from "../../Wire.ts"
import { openAiWire } from "../openai-chat/Response.ts"
import { read, encryptedContentOf } from "./Request.ts"

const usageOf = ({ outputTokens, promptTokens, thinking }: Reply): JsonObject => {
  const { cacheRead, cacheWrite1h, cacheWrite5m, fresh } = promptTokens
  const prompt = fresh + cacheRead + cacheWrite5m + cacheWrite1h
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: thinking.length },
    total_tokens: prompt + outputTokens
  }
}

/** Why an answer is incomplete. */
const shortfalls = {
  stop: undefined,
  tool_calls: undefined,
  length: "max_output_tokens",
  content_filter: "content_filter"
} as const satisfies Record<Reply["finish"], string | undefined>

const envelope = (prompt: Prompt, reply: Reply): JsonObject => ({
  id: `resp_${reply.id}`,
  object: "response",
  created_at: reply.createdSeconds,
  model: prompt.model,
  error: null,
  store: false
})

const reasoningItem = (reply: Reply): JsonObject => ({
  id: `rs_${reply.id}`,
  type: "reasoning",
  summary: [{ type: "summary_text", text: reply.thinking.join("") }],
  encrypted_content: encryptedContentOf(reply.id)
})

const messageItem = (reply: Reply): JsonObject => ({
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

const outputOf = (reply: Reply): ReadonlyArray<JsonObject> => [
  ...(reply.thinking.length === 0 ? [] : [reasoningItem(reply)]),
  ...(reply.text.length === 0 ? [] : [messageItem(reply)]),
  ...reply.calls.map(callItem)
]

const answer = (prompt: Prompt, reply: Reply): JsonObject => {
  const reason = shortfalls[reply.finish]
  return {
    ...envelope(prompt, reply),
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    output: outputOf(reply),
    usage: usageOf(reply)
  }
}

const pieces = (prompt: Prompt, reply: Reply): ReadonlyArray<StreamPiece> => {
  let sequence = 0
  let index = -1
  const event = (name: string, fields: JsonObject, isToken = false): StreamPiece => {
    const type = `response.${name}`
    return { frame: frame({ type, sequence_number: sequence++, ...fields }, type), isToken }
  }
  const item = (
    whole: JsonObject,
    begun: JsonObject,
    says: (at: JsonObject) => ReadonlyArray<StreamPiece>
  ): ReadonlyArray<StreamPiece> => {
    const output_index = ++index
    return [
      event("output_item.added", { output_index, item: { ...whole, ...begun } }),
      ...says({ output_index, item_id: whole["id"] }),
      event("output_item.done", { output_index, item: whole })
    ]
  }
  const deltas = (name: string, at: JsonObject, texts: ReadonlyArray<string>) =>
    texts.map((delta) => event(`${name}.delta`, { ...at, delta }, true))
  const begun = { ...envelope(prompt, reply), status: "in_progress", output: [], usage: null }
  const whole = answer(prompt, reply)
  return [
    event("created", { response: begun }),
    event("in_progress", { response: begun }),
    ...(reply.thinking.length === 0
      ? []
      : item(reasoningItem(reply), { summary: [], encrypted_content: "" }, (at) =>
          deltas("reasoning_summary_text", { ...at, summary_index: 0 }, reply.thinking)
        )),
    ...(reply.text.length === 0
      ? []
      : item(messageItem(reply), { content: [], status: "in_progress" }, (at) =>
          deltas("output_text", { ...at, content_index: 0 }, reply.text)
        )),
    ...reply.calls.flatMap((call) =>
      item(callItem(call), { arguments: "", status: "in_progress" }, (at) =>
        deltas("function_call_arguments", at, halves(call.arguments))
      )
    ),
    event(String(whole["status"]), { response: whole })
  ]
}

export const openAiResponsesWire: SimulatedProtocol = {
  base: "/openai/v1",
  path: "/openai/v1/responses",
  read,
  answer,
  pieces,
  complain: openAiWire.complain,
  complainInStream: (complaint) => frame({ type: "error", ...openAiWire.complain(complaint).body }, "error")
}
