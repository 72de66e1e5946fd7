/**
 * What a model answered, as a sequence of events and as the whole they fold to.
 *
 * Every protocol decodes a plain answer and a stream into the same events, so a plain and a streamed answer of the same
 * content cannot differ: both are `fold` of those events.
 */
import type { ReasoningDetail, ToolCall } from "./Conversation.ts"
import type { Usage } from "./Usage.ts"

export const finishReasons = ["stop", "length", "tool_calls", "content_filter"] as const
/** Why a completion ended. `error` is not among them: a completion that failed is a `Failure`. */
export type FinishReason = (typeof finishReasons)[number]

export type CompletionEvent =
  | { readonly type: "text"; readonly text: string }
  /** Reasoning as text for people; `detail` events carry what must be echoed. */
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "detail"; readonly detail: ReasoningDetail }
  | { readonly type: "refusal"; readonly text: string }
  /** Opens tool call `index`. Indexes count 0, 1, 2, … in order of first appearance. */
  | { readonly type: "tool"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "arguments"; readonly index: number; readonly fragment: string }
  /** May come more than once; the last one counts. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** Exactly one, unless the answer is broken. */
  | { readonly type: "finish"; readonly reason: FinishReason }

export interface Completion {
  readonly content: string
  readonly refusal: string
  readonly reasoning: string
  readonly reasoningDetails: ReadonlyArray<ReasoningDetail>
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason | undefined
  /** `undefined` when the provider told nothing, which is not the same as zero. */
  readonly usage: Usage | undefined
}

export const empty: Completion = {
  content: "",
  refusal: "",
  reasoning: "",
  reasoningDetails: [],
  toolCalls: [],
  finishReason: undefined,
  usage: undefined
}

/** True for events that the client sees as output; the commit gate opens on the first one. */
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

/** The whole answer. Consecutive details of one index are one block that arrived in pieces. */
export const fold = (events: Iterable<CompletionEvent>): Completion => {
  let content = ""
  let refusal = ""
  let reasoning = ""
  const details: Array<ReasoningDetail> = []
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
        appendDetail(details, event.detail)
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
  return { content, refusal, reasoning, reasoningDetails: details, toolCalls: tools, finishReason, usage }
}

const appendDetail = (details: Array<ReasoningDetail>, detail: ReasoningDetail): void => {
  const at = details.findLastIndex((earlier) => continuedMember(earlier, detail) !== undefined)
  const begun = details[at]
  const member = begun === undefined ? undefined : continuedMember(begun, detail)
  if (begun === undefined || member === undefined) details.push(detail)
  else details[at] = { ...begun, ...detail, [member]: `${String(begun[member] ?? "")}${String(detail[member] ?? "")}` }
}

/** The member that goes on: a streamed block is continued by details of its own type and index, until it is signed. */
const continuedMember = (last: ReasoningDetail, next: ReasoningDetail): "text" | "summary" | undefined => {
  if (last["type"] !== next["type"] || last["index"] !== next["index"] || last["index"] === undefined) return undefined
  if (last["id"] !== next["id"]) return undefined
  if (last["type"] === "reasoning.summary") return "summary"
  return last["type"] === "reasoning.text" && last["signature"] === undefined ? "text" : undefined
}
