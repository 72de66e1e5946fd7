/**
 * Encodes answers as Anthropic's messages: one object for a plain answer, named events for a stream. The final usage
 * and the charge come with the last event but one, because only then is the answer settled.
 */
import type { MessageUsage } from "../../api/Message.ts"
import type { FinishReason } from "../../domain/Completion.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { type Picodollars, toUsdNumber } from "../../domain/Money.ts"
import { cacheWriteTokens, type Usage } from "../../domain/Usage.ts"
import type { PlainAnswer } from "../../gateway/CompleteChat.ts"
import type { Settlement } from "../../gateway/Settlement.ts"
import { adjustedBody, droppedBody, routingBody } from "../completion/AnswerMembers.ts"
import type { Envelope, StreamEncoder, StreamHead } from "../completion/ClientProtocol.ts"
import { blocksFrom } from "./BlockEvents.ts"
import { MessageBlocks } from "./MessageBlocks.ts"
import { messageErrorBody } from "./MessageErrors.ts"

/** What the answer needs of the request. */
export interface MessagesAsked {
  /** Whether the answer has blocks of thinking. */
  readonly showsThinking: boolean
}

/** The `id` of a message, as the client sees it. */
const messageId = (id: RequestId): string => `msg_${id}`

/** Cached tokens are no part of `input_tokens`. */
const usageBody = (usage: Usage, cost: Picodollars): MessageUsage => ({
  input_tokens: usage.input + usage.audioInput,
  cache_creation_input_tokens: cacheWriteTokens(usage),
  cache_read_input_tokens: usage.cacheRead,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cacheWrite5m,
    ephemeral_1h_input_tokens: usage.cacheWrite1h
  },
  output_tokens: usage.output,
  output_tokens_details: { thinking_tokens: usage.reasoning },
  server_tool_use: null,
  service_tier: null,
  cost: toUsdNumber(cost)
})

const stopReasons = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal"
} as const satisfies Record<FinishReason, string>

const stopBody = ({ finishReason, stopSequence }: Settlement, hasRefused: boolean) => {
  const isRefusal = hasRefused || finishReason === "content_filter"
  const isStopSequence = !isRefusal && finishReason === "stop" && stopSequence !== undefined
  return {
    stop_reason: isRefusal ? "refusal" : isStopSequence ? "stop_sequence" : stopReasons[finishReason],
    stop_sequence: isStopSequence ? stopSequence : null,
    stop_details: isRefusal ? { type: "refusal", category: null, explanation: null } : null
  }
}

/** The body of a plain answer, a `Message` of the API. */
export const messageBody = (envelope: Envelope, answer: PlainAnswer, asked: MessagesAsked) => {
  const blocks = new MessageBlocks(asked)
  for (const delta of answer.output) blocks.push(delta)
  blocks.finish()
  return {
    id: messageId(envelope.id),
    type: "message",
    role: "assistant",
    model: answer.model,
    content: blocksFrom(blocks.take()),
    ...stopBody(answer, blocks.hasRefused),
    container: null,
    usage: usageBody(answer.usage, answer.cost),
    [envelope.serviceName]: { ...routingBody(answer.routing), ...droppedBody(answer) }
  }
}

/** One event of a stream; its name is its type. */
const eventText = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** An event that clients skip. */
export const pingEvent = eventText({ type: "ping" })

/** Encodes a streamed answer. The first text begins with `message_start`, unless it is an error. */
export const messageEncoder = (envelope: Envelope, head: StreamHead, asked: MessagesAsked): StreamEncoder => {
  const blocks = new MessageBlocks(asked)
  let begins = true
  const opening = (): string => {
    const text = begins ? eventText(startEvent(envelope, head)) : ""
    begins = false
    return text
  }
  const written = (): string => blocks.take().map(eventText).join("")
  return {
    deltas: (deltas) => {
      const text = opening()
      for (const delta of deltas) blocks.push(delta)
      return text + written()
    },
    last: (item) => {
      // An error is no part of a message: it stands where the message breaks off, or alone.
      if (item.type === "broken") return eventText(messageErrorBody(item.error.error, envelope.id))
      const text = opening()
      blocks.finish()
      const { stop_details, stop_reason, stop_sequence } = stopBody(item, blocks.hasRefused)
      const end = eventText({
        type: "message_delta",
        delta: { stop_reason, stop_sequence, stop_details, container: null },
        usage: usageBody(item.usage, item.cost),
        // The headers may have gone out before it was known which model answers.
        [envelope.serviceName]: { ...routingBody(head.routing), ...adjustedBody(head) }
      } as { readonly type: string })
      return text + written() + end + eventText({ type: "message_stop" })
    }
  }
}

/** The usage in it is an estimate; the one of `message_delta` takes its place. */
const startEvent = (envelope: Envelope, head: StreamHead) => ({
  type: "message_start",
  message: {
    id: messageId(envelope.id),
    type: "message",
    role: "assistant",
    model: head.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: {
      input_tokens: head.promptTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { thinking_tokens: 0 },
      server_tool_use: null,
      service_tier: null
    },
    [envelope.serviceName]: routingBody(head.routing)
  }
})
