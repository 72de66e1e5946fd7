/**
 * A completion, as the events of its stream and as the whole answer that `fold` makes of them.
 *
 * Every protocol reads plain responses and streams into the same events, so that a plain and a streamed answer with the
 * same content cannot differ.
 */
import type { ReasoningDetail, ToolCall } from "./Conversation.ts"
import { detailJoiner } from "./ReasoningBlocks.ts"
import type { Usage } from "./Usage.ts"

/** OpenAI's names for why a completion ended. */
export const finishReasons = ["stop", "length", "tool_calls", "content_filter"] as const
/** Why a completion ended. A completion that failed has no reason: it is a `Failure`. */
export type FinishReason = (typeof finishReasons)[number]

/** One event of a completion. */
export type CompletionEvent =
  | { readonly type: "text"; readonly text: string }
  /** Reasoning as text for people; the `detail` events hold what must be sent back to the provider. */
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "detail"; readonly detail: ReasoningDetail }
  | { readonly type: "refusal"; readonly text: string }
  /** Starts tool call `index`. Indexes count from 0 without gaps. */
  | { readonly type: "tool"; readonly index: number; readonly id: string; readonly name: string }
  /** The next piece of the arguments of tool call `index`, which are JSON text. */
  | { readonly type: "arguments"; readonly index: number; readonly fragment: string }
  /** A completion may have several of these; the last one counts. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** A completion has exactly one of these, unless it is broken. */
  | {
      readonly type: "finish"
      readonly reason: FinishReason
      /** The provider's own word for the reason, when the gateway does not know it. */
      readonly unknownWord?: string
      /** The stop sequence at which the text ended, where that is known. */
      readonly stopSequence?: string
    }

/** A whole answer. Text that the provider did not send is empty. */
export interface Completion {
  readonly content: string
  readonly refusal: string
  readonly reasoning: string
  readonly reasoningDetails: ReadonlyArray<ReasoningDetail>
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason | undefined
  /** `undefined` when the provider reported none, which is not the same as zero. */
  readonly usage: Usage | undefined
}

/** True for events that the client sees as output. Until the first of them another target may still answer instead. */
export const isOutput = (event: CompletionEvent): boolean => {
  switch (event.type) {
    case "text":
    case "reasoning":
    case "refusal":
      return event.text.length > 0
    case "detail":
    case "tool":
      return true
    case "arguments":
    case "usage":
    case "finish":
      return false
  }
}

/** Joins events into the whole answer. Details that continue each other are joined into one. */
export const fold = (events: Iterable<CompletionEvent>): Completion => {
  let content = ""
  let refusal = ""
  let reasoning = ""
  const details = detailJoiner()
  const tools: Array<{ id: string; name: string; arguments: string }> = []
  let finishReason: FinishReason | undefined
  let usage: Usage | undefined
  for (const event of events) {
    switch (event.type) {
      case "text":
        content += event.text
        break
      case "reasoning":
        reasoning += event.text
        break
      case "refusal":
        refusal += event.text
        break
      case "detail":
        details.append(event.detail)
        break
      case "tool":
        tools[event.index] = { id: event.id, name: event.name, arguments: "" }
        break
      case "arguments": {
        const tool = tools[event.index]
        if (tool !== undefined) tool.arguments += event.fragment
        break
      }
      case "usage":
        usage = event.usage
        break
      case "finish":
        finishReason = event.reason
        break
    }
  }
  return { content, refusal, reasoning, reasoningDetails: details.joined, toolCalls: tools, finishReason, usage }
}
