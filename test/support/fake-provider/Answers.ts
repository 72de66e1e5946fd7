/**
 * One short answer in every wire protocol, whole and as the chunks of a stream, for suites that play it as it is and
 * for suites that break it on its way. The compiler refuses a protocol that is missing here.
 */
import type { ChatProtocolName } from "../../../src/catalog/Model.ts"
import { eventMessage } from "../../../src/sandbox/protocols/bedrock-converse/Response.ts"
import { type Behaviour, dataEvent, type Json, namedEvent, reply, streams } from "./Behaviours.ts"

export interface AnswerOptions {
  /** Members of the message beside its role and content, in OpenAI's chat protocol and in Anthropic's. */
  readonly message?: Json
  /** In the protocol's own words. Default: the model has finished. */
  readonly finishReason?: string
  /** As the provider's protocol writes it; for OpenAI's Responses, as its chat protocol does. */
  readonly usage?: Json
}

/** An answer as a protocol writes it. */
export interface WireAnswer {
  /** Of a stream. */
  readonly mediaType: "text/event-stream" | "application/vnd.amazon.eventstream"
  readonly plain: (text: string) => Json
  /** What a stream begins with. The first of them may come twice. */
  readonly start: ReadonlyArray<Buffer>
  readonly delta: (text: string) => Buffer
  readonly end: ReadonlyArray<Buffer>
}

const mediaType = "text/event-stream"
const events = (...texts: ReadonlyArray<string>): ReadonlyArray<Buffer> => texts.map((text) => Buffer.from(text))

const openaiUsage: Json = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const chatChunk = (members: Json): string =>
  dataEvent({ id: "chatcmpl-scripted", object: "chat.completion.chunk", created: 1, model: "scripted", ...members })

/** One chunk of a stream in OpenAI's chat protocol. */
export const openaiChunk = (delta: Json, finishReason: string | null = null): string =>
  chatChunk({ choices: [{ index: 0, delta, finish_reason: finishReason }] })

export const openaiUsageChunk = (usage: Json = openaiUsage): string => chatChunk({ choices: [], usage })

/** The event that ends a stream in OpenAI's chat protocol. */
export const openaiDone = "data: [DONE]\n\n"

const openaiChat = ({ finishReason = "stop", message, usage = openaiUsage }: AnswerOptions): WireAnswer => ({
  mediaType,
  plain: (content) => ({
    id: "chatcmpl-scripted",
    object: "chat.completion",
    created: 1,
    model: "scripted",
    choices: [{ index: 0, message: { role: "assistant", content, ...message }, finish_reason: finishReason }],
    usage
  }),
  start: events(openaiChunk({ role: "assistant", content: "" })),
  delta: (content) => Buffer.from(openaiChunk({ content, ...message })),
  end: events(openaiChunk({}, finishReason), openaiUsageChunk(usage), openaiDone)
})

/** Usage as OpenAI's chat protocol counts it, under the names of its Responses protocol. */
const responsesUsage = ({
  completion_tokens,
  completion_tokens_details,
  prompt_tokens_details,
  ...usage
}: Json): Json => ({
  input_tokens: usage["prompt_tokens"],
  output_tokens: completion_tokens,
  total_tokens: usage["total_tokens"],
  ...(prompt_tokens_details !== undefined && { input_tokens_details: prompt_tokens_details }),
  ...(completion_tokens_details !== undefined && { output_tokens_details: completion_tokens_details })
})

const openaiResponses = ({ finishReason = "stop", usage = openaiUsage }: AnswerOptions): WireAnswer => {
  const status = finishReason === "stop" ? "completed" : "incomplete"
  const item = (text: string): Json => ({
    type: "message",
    id: "msg_scripted",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }]
  })
  const plain = (text: string): Json => ({
    id: "resp_scripted",
    object: "response",
    created_at: 1,
    model: "scripted",
    status,
    error: null,
    incomplete_details: finishReason === "length" ? { reason: "max_output_tokens" } : null,
    output: [item(text)],
    usage: responsesUsage(usage)
  })
  const event = (name: string, members: Json): string => namedEvent(`response.${name}`, members)
  const place = { item_id: "msg_scripted", output_index: 0, content_index: 0 }
  return {
    mediaType,
    plain,
    start: events(
      event("created", { response: { ...plain(""), status: "in_progress", output: [], usage: null } }),
      event("output_item.added", { output_index: 0, item: { ...item(""), status: "in_progress", content: [] } })
    ),
    delta: (delta) => Buffer.from(event("output_text.delta", { ...place, delta })),
    end: events(event(status, { response: plain("") }))
  }
}

const anthropicUsage: Json = { input_tokens: 10, output_tokens: 5 }

const anthropicMessages = ({
  finishReason = "end_turn",
  message,
  usage = anthropicUsage
}: AnswerOptions): WireAnswer => {
  const head = { id: "msg_scripted", type: "message", role: "assistant", model: "scripted", stop_sequence: null }
  return {
    mediaType,
    plain: (text) => ({
      ...head,
      content: [{ type: "text", text }],
      stop_reason: finishReason,
      usage,
      ...message
    }),
    start: events(
      namedEvent("message_start", {
        message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
      }),
      namedEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
    ),
    delta: (text) => Buffer.from(namedEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } })),
    end: events(
      namedEvent("content_block_stop", { index: 0 }),
      namedEvent("message_delta", { delta: { stop_reason: finishReason, stop_sequence: null }, usage }),
      namedEvent("message_stop")
    )
  }
}

const geminiUsage: Json = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }

const gemini = ({ finishReason = "STOP", usage = geminiUsage }: AnswerOptions): WireAnswer => {
  const response = (text: string, more: Json = {}): Json => ({
    candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
    usageMetadata: usage
  })
  return {
    mediaType,
    plain: (text) => response(text, { finishReason }),
    start: events(dataEvent(response(""))),
    delta: (text) => Buffer.from(dataEvent(response(text))),
    end: events(dataEvent(response("", { finishReason })))
  }
}

const bedrockUsage: Json = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

const bedrockConverse = ({ finishReason = "end_turn", usage = bedrockUsage }: AnswerOptions): WireAnswer => {
  const event = (type: string, payload: Json): Buffer => Buffer.from(eventMessage("event", type, payload))
  const metadata = { usage, metrics: { latencyMs: 1 } }
  return {
    mediaType: "application/vnd.amazon.eventstream",
    plain: (text) => ({
      output: { message: { role: "assistant", content: [{ text }] } },
      stopReason: finishReason,
      ...metadata
    }),
    start: [event("messageStart", { role: "assistant" })],
    delta: (text) => event("contentBlockDelta", { contentBlockIndex: 0, delta: { text } }),
    end: [
      event("contentBlockStop", { contentBlockIndex: 0 }),
      event("messageStop", { stopReason: finishReason }),
      event("metadata", metadata)
    ]
  }
}

const protocols: { readonly [Name in ChatProtocolName]: (options: AnswerOptions) => WireAnswer } = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  "anthropic-messages": anthropicMessages,
  gemini,
  "bedrock-converse": bedrockConverse
}

export const answerIn = (protocol: ChatProtocolName, options: AnswerOptions = {}): WireAnswer =>
  protocols[protocol](options)

/** The protocol of a request, by its path. */
const protocolOf = (path: string): ChatProtocolName => {
  if (path.endsWith("/messages")) return "anthropic-messages"
  if (path.endsWith("/responses")) return "openai-responses"
  if (/enerateContent/.test(path)) return "gemini"
  return /\/converse(-stream)?$/.test(path) ? "bedrock-converse" : "openai-chat"
}

/** Answers with text in the protocol of the request, as a stream if the request asks for one. */
export const answers =
  (text: string, options: AnswerOptions = {}): Behaviour =>
  (response, received) => {
    const { delta, end, mediaType, plain, start } = answerIn(protocolOf(received.path), options)
    const isStream = received.body["stream"] === true || /streamGenerateContent|converse-stream/.test(received.path)
    return isStream
      ? streams([...start, delta(text), ...end], { mediaType })(response, received)
      : reply(200, plain(text))(response, received)
  }
