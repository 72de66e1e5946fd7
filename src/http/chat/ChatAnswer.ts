/**
 * Chat answers as clients read them, written by hand: one object for a plain answer, one line per chunk for a stream.
 * Keys without a value are left out; a literal `tool_calls: null` breaks published clients.
 */
import type { CompletionUsage as WireUsage } from "../../api/ChatCompletion.ts"
import type { Completion, FinishReason } from "../../domain/Completion.ts"
import type { ReasoningDetail } from "../../domain/Conversation.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { type Picodollars, toUsdNumber, zero } from "../../domain/Money.ts"
import { cacheWriteTokens, none, promptTokens, type Usage } from "../../domain/Usage.ts"
import type { RoutingSummary, PlainAnswer } from "../../gateway/CompleteChat.ts"
import type { Delta } from "../../gateway/Meter.ts"
import type { StreamItem } from "../../gateway/Settlement.ts"

/** What all chunks of one answer share. */
export interface Envelope {
  readonly id: RequestId
  readonly createdSeconds: number
  readonly serviceName: string
  /** Names the configuration that answered; clients insist on a string. */
  readonly fingerprint: string
}

/** The id a client sees. */
export const completionId = (id: RequestId): string => `chatcmpl-${id}`

/** The request id within a completion id, or the text itself when it has no such prefix. */
export const requestIdIn = (id: string): string => id.replace(/^chatcmpl-/, "")

const routingBody = (routing: RoutingSummary) => ({
  routed: routing.routed,
  routed_model: routing.model,
  routing_latency_ms: routing.latencyMillis
})

const usageBody = (usage: Usage, cost: Picodollars): WireUsage => {
  const prompt = promptTokens(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    cost: toUsdNumber(cost),
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: cacheWriteTokens(usage),
      audio_tokens: usage.audioInput
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning }
  }
}

const toolCallBody = (call: Completion["toolCalls"][number]) => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: call.arguments }
})

const messageBody = (completion: Completion) => ({
  role: "assistant",
  content: saysNothing(completion) ? null : completion.content,
  refusal: completion.refusal === "" ? null : completion.refusal,
  ...(completion.toolCalls.length > 0 && { tool_calls: completion.toolCalls.map(toolCallBody) }),
  ...(completion.reasoning !== "" && { reasoning: completion.reasoning }),
  ...(completion.reasoningDetails.length > 0 && { reasoning_details: completion.reasoningDetails })
})

/** Beside tool calls content is null by the contract, and beside a refusal as OpenAI sends it. */
const saysNothing = ({ content, refusal, toolCalls }: Completion): boolean =>
  toolCalls.length > 0 || (refusal !== "" && content === "")

/** The body of a plain answer. */
export const completionBody = (envelope: Envelope, answer: PlainAnswer) => ({
  id: completionId(envelope.id),
  object: "chat.completion",
  created: envelope.createdSeconds,
  model: answer.model,
  system_fingerprint: envelope.fingerprint,
  choices: [{ index: 0, message: messageBody(answer.completion), logprobs: null, finish_reason: answer.finishReason }],
  usage: usageBody(answer.usage, answer.cost),
  [envelope.serviceName]: routingBody(answer.routing)
})

/** Reasoning with the blocks that carry the same text, in one chunk. */
interface Thought {
  readonly type: "thought"
  readonly text: string
  readonly details: ReadonlyArray<ReasoningDetail>
}
export type Written = StreamItem | Thought

/**
 * Items that arrived together, as they are to be written. A client that shows `reasoning_details` where there are any,
 * and `reasoning` elsewhere, would show a thought twice if the two came in chunks of their own.
 */
export const joinThoughts = (items: ReadonlyArray<StreamItem>): ReadonlyArray<Written> => {
  if (!items.some(({ type }) => type === "reasoning")) return items
  const written: Array<Written> = []
  for (const item of items) {
    const last = written.at(-1)
    if (item.type !== "detail") written.push(item)
    else if (last?.type === "thought") written.splice(-1, 1, { ...last, details: [...last.details, item.detail] })
    else if (last?.type === "reasoning" && tells(item.detail, last.text))
      written.splice(-1, 1, { type: "thought", text: last.text, details: [item.detail] })
    else written.push(item)
  }
  return written
}

/** A block may come with the text it carries, or later with all that was told before it. */
const tells = ({ summary, text }: ReasoningDetail, told: string): boolean => {
  const carried = typeof text === "string" ? text : summary
  return typeof carried === "string" && carried !== "" && told.startsWith(carried)
}

/** `data: …` lines of one streamed answer. */
export interface ChunkWriter {
  /** The chunk that opens the stream, with the routing metadata. */
  readonly first: () => string
  readonly item: (item: Written) => string
}

export const done = "data: [DONE]\n\n"
/** A comment: clients skip it, load balancers see that the connection lives. */
export const keepAlive = ": keep-alive\n\n"

/** Everything that never changes is serialised once, so that a chunk costs one small `JSON.stringify`. */
export const chunkWriter = (
  envelope: Envelope,
  answer: { readonly model: string; readonly routing: RoutingSummary }
): ChunkWriter => {
  const head =
    `data: {"id":${JSON.stringify(completionId(envelope.id))},"object":"chat.completion.chunk",` +
    `"created":${envelope.createdSeconds},"model":${JSON.stringify(answer.model)},` +
    `"system_fingerprint":${JSON.stringify(envelope.fingerprint)},"choices":[`
  const metadata = `,${JSON.stringify(envelope.serviceName)}:${JSON.stringify(routingBody(answer.routing))}`
  const choice = (delta: string, finishReason: FinishReason | "error" | null): string =>
    `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${JSON.stringify(finishReason)}}`
  const open = `${head}{"index":0,"delta":`
  const close = `,"logprobs":null,"finish_reason":null}]}\n\n`
  return {
    first: () => `${head}${choice(`{"role":"assistant","content":""}`, null)}]${metadata}}\n\n`,
    item: (item) => {
      switch (item.type) {
        case "settled":
          return (
            `${head}${choice("{}", item.finishReason)}]}\n\n` +
            `${head}],"usage":${JSON.stringify(usageBody(item.usage, item.cost))}${metadata}}\n\n`
          )
        case "broken":
          return (
            `${head}${choice("{}", "error")}],"usage":${JSON.stringify(usageBody(none, zero))}` +
            `,"error":${JSON.stringify(item.error.error)}${metadata}}\n\n`
          )
        default:
          return open + JSON.stringify(deltaBody(item)) + close
      }
    }
  }
}

const deltaBody = (delta: Delta | Thought): object => {
  switch (delta.type) {
    case "text":
      return { content: delta.text }
    case "reasoning":
      return { reasoning: delta.text }
    case "detail":
      return { reasoning_details: [delta.detail] }
    case "thought":
      return { reasoning: delta.text, reasoning_details: delta.details }
    case "refusal":
      return { refusal: delta.text }
    case "tool":
      return {
        tool_calls: [
          { index: delta.index, id: delta.id, type: "function", function: { name: delta.name, arguments: "" } }
        ]
      }
    case "arguments":
      return { tool_calls: [{ index: delta.index, function: { arguments: delta.fragment } }] }
  }
}
