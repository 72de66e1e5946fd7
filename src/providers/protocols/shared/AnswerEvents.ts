/**
 * Collects the events of one answer, for every protocol in the same way: tool calls are numbered and named, reasoning
 * is stamped and hidden when it shall be, local stop sequences cut the text, and the closing reason fits what was said.
 */
import { Result } from "effect"

import type { CompletionEvent, FinishReason } from "../../../domain/Completion.ts"
import type { ReasoningDetail } from "../../../domain/Conversation.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import { isBelievable, type Usage } from "../../../domain/Usage.ts"
import type { WireCall } from "../Protocol.ts"
import { isJsonObject } from "./Field.ts"
import { stampOrigin } from "./ReasoningDetails.ts"
import { stopAt, passThrough } from "./TextFilters.ts"
import { digest } from "./WireIds.ts"

export type Events = ReadonlyArray<CompletionEvent>

export interface AnswerEvents {
  readonly text: (text: string) => void
  /** Reasoning as plain text, without a block that could be echoed. */
  readonly reasoning: (text: string) => void
  readonly detail: (detail: ReasoningDetail) => void
  readonly refusal: (text: string) => void
  /** Opens a tool call and returns its index. Ids that are absent or were used before are replaced. */
  readonly openTool: (id: string | undefined, name: string) => number
  readonly toolArguments: (index: number, fragment: string) => void
  readonly argumentsOf: (index: number) => string
  /** The id under which a tool call is known to the client. */
  readonly idOf: (index: number) => string
  /** Counts that nobody can believe are left out, as if there were none. */
  readonly usage: (usage: Usage) => void
  /** The name of the answer, from which missing tool ids are made. */
  readonly named: (id: string | undefined) => void
  /** The events since the last call. */
  readonly take: () => Events
  /** The closing events. `reason` is `undefined` when the provider never gave one. */
  readonly close: (reason: FinishReason | undefined) => Result.Result<Events, Failure>
}

/** `localStops`: sequences that this provider was not asked to stop at. */
export const answerEvents = (call: WireCall, localStops: ReadonlyArray<string>): AnswerEvents => {
  let events: Array<CompletionEvent> = []
  let name = ""
  let cut = false
  const excluded = call.request.reasoning?.exclude ?? false
  /** Indexes of blocks whose text was hidden: what follows of them has nothing to sign any more. */
  const hidden = new Set<unknown>()
  const tools: Array<{ readonly id: string; arguments: string }> = []
  const filter = localStops.length === 0 ? passThrough : stopAt(localStops, () => (cut = true))

  const visible = (text: string): void => {
    if (text !== "") events.push({ type: "text", text })
  }
  const take = (): Events => {
    const taken = events
    events = []
    return taken
  }
  return {
    text: (text) => visible(filter.push(text)),
    reasoning: (text) => {
      if (text !== "" && !excluded) events.push({ type: "reasoning", text })
    },
    detail: (detail) => {
      if (excluded && (isReadable(detail) || hidden.has(detail["index"]))) hidden.add(detail["index"])
      else events.push({ type: "detail", detail: stampOrigin(call.origin, detail) })
    },
    refusal: (text) => {
      if (text !== "") events.push({ type: "refusal", text })
    },
    openTool: (id, toolName) => {
      const index = tools.length
      const used = id === undefined || tools.some((tool) => tool.id === id)
      const own = used ? `call_${digest(`${name}:${call.request.messages.length}:${index}`, 24)}` : id
      tools.push({ id: own, arguments: "" })
      events.push({ type: "tool", index, id: own, name: toolName })
      return index
    },
    toolArguments: (index, fragment) => {
      const tool = tools[index]
      if (tool === undefined || fragment === "") return
      tool.arguments += fragment
      events.push({ type: "arguments", index, fragment })
    },
    argumentsOf: (index) => tools[index]?.arguments ?? "",
    idOf: (index) => tools[index]?.id ?? "",
    usage: (usage) => {
      if (isBelievable(usage)) events.push({ type: "usage", usage })
    },
    named: (id) => (name ||= id ?? ""),
    take,
    close: (reason) => {
      if (reason === undefined) return Result.fail(broken("The provider's answer ended without a finish reason."))
      visible(filter.flush())
      for (const [index, tool] of tools.entries())
        if (tool.arguments.trim() === "") {
          tool.arguments = "{}"
          events.push({ type: "arguments", index, fragment: "{}" })
        }
      events.push({ type: "finish", reason: fitting(reason, tools, cut) })
      return Result.succeed(take())
    }
  }
}

const isReadable = (detail: ReasoningDetail): boolean =>
  (detail["type"] === "reasoning.text" && typeof detail["text"] === "string" && detail["text"] !== "") ||
  detail["type"] === "reasoning.summary"

/** Some providers say `stop` beside tool calls, and `tool_calls` without any. */
const fitting = (
  reason: FinishReason,
  tools: ReadonlyArray<{ readonly arguments: string }>,
  cut: boolean
): FinishReason => {
  if (reason === "stop" && tools.some((tool) => isJsonObject(tool.arguments))) return "tool_calls"
  if (reason === "tool_calls" && tools.length === 0) return "stop"
  return reason === "length" && cut ? "stop" : reason
}
