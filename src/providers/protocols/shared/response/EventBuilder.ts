/**
 * Builds the events of one completion, for every protocol in the same way: tool calls are numbered and get unique ids,
 * reasoning carries the target that made it and is left out where the client excludes it, stop sequences cut the text,
 * and the finish reason fits the content.
 */
import { Result } from "effect"

import type { CompletionEvent, FinishReason } from "../../../../domain/Completion.ts"
import type { ReasoningDetail } from "../../../../domain/Conversation.ts"
import { broken, type Failure } from "../../../../domain/Failure.ts"
import type { Usage } from "../../../../domain/Usage.ts"
import type { WireCall } from "../../Protocol.ts"
import { isJsonObject } from "../Field.ts"
import { signedTextHash, stampOrigin, substituteDetailId, type ThinkingPosition } from "../ReasoningDetails.ts"
import { digest } from "../request/WireIds.ts"
import { passThrough, stopAt } from "./TextFilters.ts"
import { tokenLimit } from "./TokenLimit.ts"

export type CompletionEvents = ReadonlyArray<CompletionEvent>

/** The reasoning block that a piece of text or a signature belongs to. */
interface ReasoningBlockRef {
  /** The format of the block, as OpenRouter's clients know it. */
  readonly format: string
  readonly index: number
}

interface ReasoningBuilder {
  /** Reasoning as text for people. Without a detail beside it, it cannot be sent back to the provider. */
  readonly appendReasoning: (text: string) => void
  readonly appendDetail: (detail: ReasoningDetail) => void
  /** A piece of a reasoning block, both as text for people and as the detail that can be sent back. */
  readonly appendReasoningBlock: (text: string, block: ReasoningBlockRef) => void
  /** The signature that ends a reasoning block. The block may have no text: that is how hidden reasoning comes. */
  readonly appendSignature: (signature: string, block: ReasoningBlockRef) => void
  /** A reasoning block that only the provider can read. */
  readonly appendEncrypted: (data: unknown, block: ReasoningBlockRef) => void
}

/**
 * It holds state: the events that were not taken yet, the tool calls so far, and text that may begin a stop sequence.
 */
export interface EventBuilder extends ReasoningBuilder {
  readonly appendText: (text: string) => void
  readonly appendRefusal: (text: string) => void
  /**
   * Starts a tool call and returns its index. An id that is missing or taken is replaced. With too many calls the
   * answer is broken.
   */
  readonly startToolCall: (id: string | undefined, name: string) => number
  readonly appendArguments: (index: number, fragment: string) => void
  readonly argumentsOf: (index: number) => string
  /** The id that the client sees. */
  readonly toolCallId: (index: number) => string
  /** Replaces the usage so far. Counts beyond any model's context are a provider's mistake and are ignored. */
  readonly setUsage: (usage: Usage | undefined) => void
  /** The provider's id of the response; the first one counts. Missing ids of tool calls are derived from it. */
  readonly setResponseId: (id: string | undefined) => void
  /** Marks the answer as broken, because it has more parts than any model makes. */
  readonly setOversized: () => void
  /** Keeps a finish reason that no table knows, for the event that ends the answer. */
  readonly setUnknownReason: (word: string) => void
  /** Keeps the stop sequence at which the provider ended the answer, for the same event. */
  readonly setStopSequence: (sequence: string | undefined) => void
  /** The events since the last call. */
  readonly take: () => CompletionEvents
  /** The last events. The answer is broken when the provider never gave a finish reason. */
  readonly finish: (reason: FinishReason | undefined) => Result.Result<CompletionEvents, Failure>
}

/** Tool calls, and output items, in one answer. Models make a few dozen. */
export const maxAnswerItems = 2_000

interface BuiltToolCall {
  readonly id: string
  /** False for a call that the client does not want beside the first. */
  readonly isKept: boolean
  arguments: string
}

/** The next tool call, with an id that no other has. */
const newToolCall = (
  { request }: WireCall,
  toolCalls: ReadonlyArray<BuiltToolCall>,
  id: string | undefined,
  responseId: string
): BuiltToolCall => {
  const index = toolCalls.length
  const isTaken = id === undefined || toolCalls.some((toolCall) => toolCall.id === id)
  return {
    id: isTaken ? `call_${digest(`${responseId}:${request.messages.length}:${index}`, 24)}` : id,
    // Where a provider was asked for one call at most, not every model keeps to it.
    isKept: index === 0 || request.parallelToolCalls,
    arguments: ""
  }
}

/** Characters of an unknown finish reason that are kept. */
const maxUnknownWordLength = 64

/** See `newResponseState` for `localStops` and `localLimit`. */
export const makeEventBuilder = (
  call: WireCall,
  localStops: ReadonlyArray<string>,
  localLimit?: number
): EventBuilder => {
  const events: Array<CompletionEvent> = []
  let responseId = ""
  let unknownWord: string | undefined
  let stopped: string | undefined
  let isOversized = false
  const toolCalls: Array<BuiltToolCall> = []
  const filter = localStops.length === 0 ? passThrough : stopAt(localStops, (sequence) => (stopped = sequence))
  let visibleLength = 0
  const limit = localLimit === undefined ? undefined : tokenLimit(localLimit)
  const appendVisible = (whole: string): void => {
    const text = limit === undefined ? whole : limit.cut(whole)
    visibleLength += text.length
    if (text !== "") events.push({ type: "text", text })
  }
  const take = (): CompletionEvents => events.splice(0)
  return {
    ...reasoningBuilder(
      call,
      (event) => events.push(event),
      () => ({ text: visibleLength, calls: toolCalls.filter(({ isKept }) => isKept).length })
    ),
    appendText: (text) => appendVisible(filter.push(text)),
    appendRefusal: (text) => {
      if (text !== "") events.push({ type: "refusal", text })
    },
    startToolCall: (id, name) => {
      const index = toolCalls.length
      if (index >= maxAnswerItems) {
        isOversized = true
        return index - 1
      }
      const toolCall = newToolCall(call, toolCalls, id, responseId)
      toolCalls.push(toolCall)
      if (toolCall.isKept) events.push({ type: "tool", index, id: toolCall.id, name })
      return index
    },
    appendArguments: (index, fragment) => {
      const toolCall = toolCalls[index]
      if (toolCall === undefined || fragment === "") return
      toolCall.arguments += fragment
      if (toolCall.isKept) events.push({ type: "arguments", index, fragment })
    },
    argumentsOf: (index) => toolCalls[index]?.arguments ?? "",
    toolCallId: (index) => toolCalls[index]?.id ?? "",
    setUsage: (usage) => {
      if (usage !== undefined) events.push({ type: "usage", usage: limit?.charged(usage) ?? usage })
    },
    setResponseId: (id) => (responseId ||= id ?? ""),
    setOversized: () => (isOversized = true),
    setUnknownReason: (word) => (unknownWord = word.slice(0, maxUnknownWordLength)),
    setStopSequence: (sequence) => (stopped ??= sequence),
    take,
    finish: (reason) => {
      if (reason === undefined) return Result.fail(broken("The provider's answer ended without a finish reason."))
      if (isOversized) return Result.fail(broken("The provider's answer has more parts than any model makes."))
      appendVisible(filter.flush())
      events.push(...missingArguments(toolCalls))
      const fitting = fittingReason(reason, toolCalls, stopped !== undefined)
      const final = fitting === "stop" && limit?.isReached() ? "length" : fitting
      events.push(finishEvent(final, unknownWord, stopped))
      return Result.succeed(take())
    }
  }
}

/** `stopSequence`: where the text was cut, by the gateway or by the provider. */
const finishEvent = (reason: FinishReason, unknownWord?: string, stopSequence?: string): CompletionEvent => ({
  type: "finish",
  reason,
  ...(unknownWord !== undefined && { unknownWord }),
  ...(reason === "stop" && stopSequence !== undefined && { stopSequence })
})

/** An empty object for each call that came without arguments. */
const missingArguments = (toolCalls: ReadonlyArray<BuiltToolCall>): CompletionEvents =>
  toolCalls.flatMap((toolCall, index): CompletionEvents => {
    if (!toolCall.isKept || toolCall.arguments.trim() !== "") return []
    toolCall.arguments = "{}"
    return [{ type: "arguments", index, fragment: "{}" }]
  })

/** An open block of reasoning. */
interface OpenBlock {
  readonly position: ThinkingPosition
  text: string
}

/** `here`: the position in the answer that has been reached. */
const reasoningBuilder = (
  call: WireCall,
  push: (event: CompletionEvent) => void,
  here: () => ThinkingPosition
): ReasoningBuilder => {
  const blocks = new Map<number, OpenBlock>()
  const blockAt = (index: number): OpenBlock => {
    const block = blocks.get(index) ?? { position: here(), text: "" }
    blocks.set(index, block)
    return block
  }
  const isExcluded = call.request.reasoning?.exclude ?? false
  /** Indexes of blocks whose text was left out; a signature is worth nothing without it. */
  const excludedBlocks = new Set<unknown>()
  const appendReasoning = (text: string): void => {
    if (text !== "" && !isExcluded) push({ type: "reasoning", text })
  }
  const appendDetail = (detail: ReasoningDetail): void => {
    if (isExcluded && (hasReadableText(detail) || excludedBlocks.has(detail["index"])))
      excludedBlocks.add(detail["index"])
    else push({ type: "detail", detail: stampOrigin(call.origin, detail) })
  }
  return {
    appendReasoning,
    appendDetail,
    appendReasoningBlock: (text, { format, index }) => {
      if (text === "") return
      const block = blockAt(index)
      block.text += text
      appendReasoning(text)
      appendDetail({ type: "reasoning.text", text, id: substituteDetailId(block.position, {}), format, index })
    },
    appendSignature: (signature, { format, index }) => {
      const { position, text } = blockAt(index)
      const id = substituteDetailId(position, { textHash: signedTextHash(text) })
      if (signature !== "") appendDetail({ type: "reasoning.text", text: "", signature, id, format, index })
    },
    appendEncrypted: (data, { format, index }) =>
      appendDetail({ type: "reasoning.encrypted", data, id: substituteDetailId(here(), { data }), format, index })
  }
}

const hasReadableText = (detail: ReasoningDetail): boolean =>
  (detail["type"] === "reasoning.text" && typeof detail["text"] === "string" && detail["text"] !== "") ||
  detail["type"] === "reasoning.summary"

/** Some providers give `stop` beside tool calls, and `tool_calls` without any. */
const fittingReason = (
  reason: FinishReason,
  toolCalls: ReadonlyArray<BuiltToolCall>,
  stopped: boolean
): FinishReason => {
  if (reason === "stop" && toolCalls.some((toolCall) => isJsonObject(toolCall.arguments))) return "tool_calls"
  if (reason === "tool_calls" && toolCalls.length === 0) return "stop"
  return reason === "length" && stopped ? "stop" : reason
}
