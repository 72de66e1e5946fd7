/**
 * Encodes chat answers for the wire by hand: one object for a plain answer, one `data:` line per chunk of a stream.
 * Members without a value are left out, because a literal `tool_calls: null` breaks published clients.
 */
import type { CompletionUsage as WireUsage } from "../../api/ChatCompletion.ts"
import type { Completion, FinishReason } from "../../domain/Completion.ts"
import type { ReasoningDetail } from "../../domain/Conversation.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { type Picodollars, toUsdNumber, zero } from "../../domain/Money.ts"
import { cacheWriteTokens, none, promptTokens, type Usage } from "../../domain/Usage.ts"
import type { PlainAnswer } from "../../gateway/CompleteChat.ts"
import type { Delta } from "../../gateway/Meter.ts"
import type { LastItem } from "../../gateway/Settlement.ts"
import { adjustedBody, droppedBody, routingBody } from "../completion/AnswerMembers.ts"
import type { Envelope, StreamHead } from "../completion/ClientProtocol.ts"

/** The `id` of the answer, as the client sees it. */
export const completionId = (id: RequestId): string => `chatcmpl-${id}`

/** The request id in the id of an answer in any protocol; text without a prefix is returned unchanged. */
export const requestIdIn = (id: string): string => id.replace(/^(?:chatcmpl-|resp_|msg_)/, "")

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
  content: hasNullContent(completion) ? null : completion.content,
  refusal: completion.refusal === "" ? null : completion.refusal,
  ...(completion.toolCalls.length > 0 && { tool_calls: completion.toolCalls.map(toolCallBody) }),
  ...(completion.reasoning !== "" && { reasoning: completion.reasoning }),
  ...(completion.reasoningDetails.length > 0 && { reasoning_details: completion.reasoningDetails })
})

/** Beside tool calls `content` is null by the contract, and beside a refusal because OpenAI sends it so. */
const hasNullContent = ({ content, refusal, toolCalls }: Completion): boolean =>
  toolCalls.length > 0 || (refusal !== "" && content === "")

/** The body of a plain answer, a `ChatCompletion` of the API. */
export const completionBody = (envelope: Envelope, answer: PlainAnswer) => ({
  id: completionId(envelope.id),
  object: "chat.completion",
  created: envelope.createdSeconds,
  model: answer.model,
  system_fingerprint: envelope.fingerprint,
  choices: [{ index: 0, message: messageBody(answer.completion), logprobs: null, finish_reason: answer.finishReason }],
  usage: usageBody(answer.usage, answer.cost),
  [envelope.serviceName]: { ...routingBody(answer.routing), ...droppedBody(answer) }
})

/** Reasoning text together with the blocks that carry the same text; they are sent in one chunk. */
interface DetailedReasoning {
  readonly type: "detailed_reasoning"
  readonly text: string
  readonly details: ReadonlyArray<ReasoningDetail>
}

/** All reasoning blocks of an answer, each in one piece. */
interface CompleteDetails {
  readonly type: "complete_details"
  readonly details: ReadonlyArray<ReasoningDetail>
}

/** What one chunk is made of. */
export type ChunkItem = Delta | LastItem | DetailedReasoning | CompleteDetails

/**
 * Joins reasoning text with the blocks that arrived together with it. Some clients show `reasoning_details` where there
 * are any and `reasoning` elsewhere; in separate chunks they would show the same text twice.
 */
export const joinReasoning = (items: ReadonlyArray<Delta>): ReadonlyArray<ChunkItem> => {
  if (!items.some(({ type }) => type === "reasoning")) return items
  const joined: Array<ChunkItem> = []
  for (const item of items) {
    const last = joined.at(-1)
    if (item.type !== "detail") joined.push(item)
    else if (last?.type === "detailed_reasoning") {
      joined.splice(-1, 1, { ...last, details: [...last.details, item.detail] })
    } else if (last?.type === "reasoning" && repeatsText(item.detail, last.text)) {
      joined.splice(-1, 1, { type: "detailed_reasoning", text: last.text, details: [item.detail] })
    } else joined.push(item)
  }
  return joined
}

/** True for a block whose own text is the reasoning text, or its beginning. */
const repeatsText = ({ summary, text }: ReasoningDetail, reasoning: string): boolean => {
  const carried = typeof text === "string" ? text : summary
  return typeof carried === "string" && carried !== "" && reasoning.startsWith(carried)
}

/** Encodes one streamed answer. Every method returns complete `data:` lines, each with the empty line that ends it. */
export interface ChunkWriter {
  /** The chunk that opens the stream, with the routing metadata. */
  readonly first: () => string
  /** For `settled` and `broken` it is the last chunk: it has the finish reason, the usage and the metadata. */
  readonly item: (item: ChunkItem) => string
}

/** Ends every stream. */
export const doneLine = "data: [DONE]\n\n"
/** A comment of server-sent events. */
export const keepAliveComment = ": keep-alive\n\n"

/** Whatever is the same in all chunks is serialised once, so that a chunk costs one small `JSON.stringify`. */
export const chunkWriter = (envelope: Envelope, answer: StreamHead): ChunkWriter => {
  const head =
    `data: {"id":${JSON.stringify(completionId(envelope.id))},"object":"chat.completion.chunk",` +
    `"created":${envelope.createdSeconds},"model":${JSON.stringify(answer.model)},` +
    `"system_fingerprint":${JSON.stringify(envelope.fingerprint)},"choices":[`
  const metadataWith = (adjusted: object): string =>
    `,${JSON.stringify(envelope.serviceName)}:${JSON.stringify({ ...routingBody(answer.routing), ...adjusted })}`
  const open = `${head}{"index":0,"delta":`
  const close = `,"logprobs":null,"finish_reason":null}]`
  // Loops that read `choices[0]` of every chunk must live to the end, so the last chunk has a choice as well.
  const last = (finishReason: FinishReason | "error", usage: WireUsage, error = ""): string =>
    `${open}{},"logprobs":null,"finish_reason":"${finishReason}"}],"usage":${JSON.stringify(usage)}${error}` +
    // The headers may have gone out before it was known which model answers.
    `${metadataWith(adjustedBody(answer))}}\n\n`
  return {
    first: () => `${open}{"role":"assistant","content":""}${close}${metadataWith({})}}\n\n`,
    item: (item) => {
      switch (item.type) {
        case "settled":
          return last(item.finishReason, usageBody(item.usage, item.cost))
        case "broken":
          return last("error", brokenUsage(item), `,"error":${JSON.stringify(item.error.error)}`)
        default:
          return `${open}${JSON.stringify(deltaBody(item))}${close}}\n\n`
      }
    }
  }
}

/** What a broken answer costs: nothing, beyond what an earlier try of the same request was charged. */
const brokenUsage = ({ charged }: Extract<LastItem, { readonly type: "broken" }>): WireUsage =>
  charged === undefined ? usageBody(none, zero) : usageBody(charged.usage, charged.cost)

const deltaBody = (delta: Delta | DetailedReasoning | CompleteDetails): object => {
  switch (delta.type) {
    case "text":
      return { content: delta.text }
    case "reasoning":
      return { reasoning: delta.text }
    case "detail":
      return { reasoning_details: [delta.detail] }
    case "complete_details":
      return { reasoning_details: delta.details }
    case "detailed_reasoning":
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
