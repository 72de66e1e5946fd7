/** The sandbox as an OpenAI chat completions server. Reasoning comes as `reasoning_content`, as in many servers. */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { Prompt, PromptTokens, Reply } from "../../Prompt.ts"
import { type SimulatedError, frame, halves, type StreamPiece, type SimulatedProtocol } from "../../Wire.ts"
import { read } from "./Request.ts"

const promptTotal = (tokens: PromptTokens): number =>
  tokens.fresh + tokens.cacheRead + tokens.cacheWrite5m + tokens.cacheWrite1h

const usageOf = ({ promptTokens, outputTokens, thinking }: Reply): JsonObject => ({
  prompt_tokens: promptTotal(promptTokens),
  completion_tokens: outputTokens,
  total_tokens: promptTotal(promptTokens) + outputTokens,
  prompt_tokens_details: { cached_tokens: promptTokens.cacheRead, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: thinking.length, audio_tokens: 0 }
})

const callsOf = (reply: Reply): ReadonlyArray<JsonObject> =>
  reply.calls.map((call) => ({
    id: `call_${call.id}`,
    type: "function",
    function: { name: call.name, arguments: call.arguments }
  }))

const envelope = (prompt: Prompt, reply: Reply, object: string): JsonObject => ({
  id: `chatcmpl-${reply.id}`,
  object,
  created: reply.createdSeconds,
  model: prompt.model,
  system_fingerprint: "fp_sandbox"
})

const answer = (prompt: Prompt, reply: Reply): JsonObject => ({
  ...envelope(prompt, reply, "chat.completion"),
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: reply.calls.length > 0 ? null : reply.text.join(""),
        refusal: null,
        ...(reply.thinking.length > 0 && { reasoning_content: reply.thinking.join("") }),
        ...(reply.calls.length > 0 && { tool_calls: callsOf(reply) })
      },
      logprobs: null,
      finish_reason: reply.finish
    }
  ],
  usage: usageOf(reply)
})

const pieces = (prompt: Prompt, reply: Reply): ReadonlyArray<StreamPiece> => {
  const head = envelope(prompt, reply, "chat.completion.chunk")
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    frame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })
  const token = (delta: JsonObject): StreamPiece => ({ frame: chunk(delta), isToken: true })
  const calls = reply.calls.flatMap((call, index) => [
    token({
      tool_calls: [{ index, id: `call_${call.id}`, type: "function", function: { name: call.name, arguments: "" } }]
    }),
    ...halves(call.arguments).map((half) => token({ tool_calls: [{ index, function: { arguments: half } }] }))
  ])
  return [
    { frame: chunk({ role: "assistant", content: "", refusal: null }), isToken: false },
    ...reply.thinking.map((text) => token({ reasoning_content: text })),
    ...reply.text.map((text) => token({ content: text })),
    ...calls,
    { frame: chunk({}, reply.finish), isToken: false },
    { frame: frame({ ...head, choices: [], usage: usageOf(reply) }), isToken: false },
    { frame: frame("[DONE]"), isToken: false }
  ]
}

const typesByStatus: { readonly [status: number]: string } = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error"
}

const errorOf = (complaint: SimulatedError) => {
  switch (complaint._tag) {
    case "Status": {
      const { status } = complaint
      const type = typesByStatus[status] ?? (status < 500 ? "invalid_request_error" : "server_error")
      const code = status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_api_key" : null
      return { status, type, code, message: `The sandbox was asked for status ${status}.` }
    }
    case "Invalid":
      return { status: 400, type: "invalid_request_error", code: null, message: complaint.message }
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

const complain = (complaint: SimulatedError): { readonly status: number; readonly body: JsonObject } => {
  const { status, ...error } = errorOf(complaint)
  return { status, body: { error: { ...error, param: null } } }
}

export const openAiWire: SimulatedProtocol = {
  base: "/openai/v1",
  path: "/openai/v1/chat/completions",
  read,
  answer,
  pieces,
  complain,
  complainInStream: (complaint) => frame(complain(complaint).body)
}
