/**
 * One short answer in every protocol, plain and as the pieces of a stream, for suites that break it on its way. The
 * compiler refuses a protocol that is missing here.
 */
import type { ChatProtocolName } from "../../src/catalog/Model.ts"
import { message } from "../../src/sandbox/protocols/bedrock-converse/Response.ts"
import { dataLine, type Json, namedEvent, openaiChunk, openaiUsageChunk } from "./ScriptedProvider.ts"

export interface WireSample {
  /** Of a stream. */
  readonly media: "text/event-stream" | "application/vnd.amazon.eventstream"
  readonly plain: (text: string) => Json
  /** What opens the stream. It can come twice. */
  readonly start: ReadonlyArray<Buffer>
  readonly delta: (text: string) => Buffer
  readonly end: ReadonlyArray<Buffer>
}

const sse = (...frames: ReadonlyArray<string>): ReadonlyArray<Buffer> => frames.map((frame) => Buffer.from(frame))
const media = "text/event-stream"

const response = (status: string, output: ReadonlyArray<Json>, usage: Json | null): Json => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status,
  error: null,
  incomplete_details: null,
  output,
  usage
})
const spoken = (text: string): Json => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }]
})
const responsesUsage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }

const anthropicUsage = { input_tokens: 10, output_tokens: 5 }
const anthropicMessage = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null }

const candidate = (text: string, more: Json = {}): Json => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
})

const bedrockUsage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
const event = (type: string, payload: Json): Buffer => Buffer.from(message("event", type, payload))

export const samples: { readonly [Name in ChatProtocolName]: WireSample } = {
  "openai-chat": {
    media,
    plain: (content) => ({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    }),
    start: sse(openaiChunk({ role: "assistant", content: "" })),
    delta: (content) => Buffer.from(openaiChunk({ content })),
    end: sse(openaiChunk({}, "stop"), openaiUsageChunk(), "data: [DONE]\n\n")
  },
  "openai-responses": {
    media,
    plain: (text) => response("completed", [spoken(text)], responsesUsage),
    start: sse(
      namedEvent("response.created", { response: response("in_progress", [], null) }),
      namedEvent("response.output_item.added", {
        output_index: 0,
        item: { ...spoken(""), content: [], status: "in_progress" }
      })
    ),
    delta: (delta) =>
      Buffer.from(
        namedEvent("response.output_text.delta", { item_id: "msg_1", output_index: 0, content_index: 0, delta })
      ),
    end: sse(namedEvent("response.completed", { response: response("completed", [spoken("")], responsesUsage) }))
  },
  "anthropic-messages": {
    media,
    plain: (text) => ({
      ...anthropicMessage,
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: anthropicUsage
    }),
    start: sse(
      namedEvent("message_start", {
        message: { ...anthropicMessage, content: [], stop_reason: null, usage: { input_tokens: 10, output_tokens: 1 } }
      }),
      namedEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
    ),
    delta: (text) => Buffer.from(namedEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } })),
    end: sse(
      namedEvent("content_block_stop", { index: 0 }),
      namedEvent("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: anthropicUsage }),
      namedEvent("message_stop")
    )
  },
  gemini: {
    media,
    plain: (text) => candidate(text, { finishReason: "STOP" }),
    start: sse(dataLine(candidate(""))),
    delta: (text) => Buffer.from(dataLine(candidate(text))),
    end: sse(dataLine(candidate("", { finishReason: "STOP" })))
  },
  "bedrock-converse": {
    media: "application/vnd.amazon.eventstream",
    plain: (text) => ({
      output: { message: { role: "assistant", content: [{ text }] } },
      stopReason: "end_turn",
      usage: bedrockUsage,
      metrics: { latencyMs: 1 }
    }),
    start: [event("messageStart", { role: "assistant" })],
    delta: (text) => event("contentBlockDelta", { contentBlockIndex: 0, delta: { text } }),
    end: [
      event("contentBlockStop", { contentBlockIndex: 0 }),
      event("messageStop", { stopReason: "end_turn" }),
      event("metadata", { usage: bedrockUsage, metrics: { latencyMs: 1 } })
    ]
  }
}
