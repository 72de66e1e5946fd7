/**
 * Joins the deltas of tool calls. Servers disagree on everything here: indexes may be missing, shuffled or all zero;
 * ids may be missing, `"null"`, repeated on every delta or new on every delta; names may be repeated. A delta belongs
 * to the call with its id, else to the one with its index, else to the last one, unless it plainly starts another call.
 */
import { asArray, asNumber, asObject, asText, isJsonObject } from "../shared/Field.ts"
import { type EventBuilder, maxAnswerItems } from "../shared/response/EventBuilder.ts"

interface ToolCallDelta {
  readonly id: string | undefined
  /** The index that the server gives. */
  readonly serverIndex: number | undefined
  readonly name: string | undefined
  readonly fragment: string
}

/** A tool call as far as it has arrived. */
export interface ToolCallSoFar {
  id: string | undefined
  readonly serverIndex: number | undefined
  name: string | undefined
  /** The arguments that arrived before the name. */
  pendingArguments: string
  /** The index among the tool calls of the completion. A call starts there when its name is known. */
  index: number | undefined
}

/** Adds these deltas. `areComplete` is true for the calls of a plain response, each of which is a call of its own. */
export const appendToolCalls = (
  events: EventBuilder,
  toolCalls: Array<ToolCallSoFar>,
  entries: unknown,
  areComplete: boolean
): void => {
  for (const entry of asArray(entries)) {
    const delta = deltaOf(entry)
    if (delta !== undefined) append(events, toolCalls, delta, areComplete)
  }
}

const deltaOf = (entry: unknown): ToolCallDelta | undefined => {
  const fields = asObject(entry)
  if (fields === undefined) return undefined
  const called = asObject(fields["function"]) ?? {}
  const id = asText(fields["id"])
  const fragment = called["arguments"]
  return {
    id: id === "null" ? undefined : id,
    serverIndex: asNumber(fields["index"]),
    name: asText(called["name"]),
    // Servers that hand on the calls of another API sometimes send the arguments as an object.
    fragment: asText(fragment) ?? (asObject(fragment) === undefined ? "" : JSON.stringify(fragment))
  }
}

const append = (
  events: EventBuilder,
  toolCalls: Array<ToolCallSoFar>,
  delta: ToolCallDelta,
  isComplete: boolean
): void => {
  const { fragment, id, name, serverIndex } = delta
  let toolCall = isComplete ? undefined : continuedBy(events, toolCalls, delta)
  if (toolCall === undefined) {
    if (toolCalls.length >= maxAnswerItems) return events.setOversized()
    toolCall = { id, serverIndex, name: undefined, pendingArguments: "", index: undefined }
    toolCalls.push(toolCall)
  }
  toolCall.id ??= id
  if (toolCall.index === undefined && name !== undefined) {
    toolCall.name = name
    toolCall.index = events.startToolCall(toolCall.id, name)
    events.appendArguments(toolCall.index, toolCall.pendingArguments)
  }
  // A server that repeats a finished call does not mean to append to it.
  if (name !== undefined && fragment === argumentsOf(events, toolCall) && isJsonObject(fragment)) return
  if (toolCall.index === undefined) toolCall.pendingArguments += fragment
  else events.appendArguments(toolCall.index, fragment)
}

/** The call that this delta continues. */
const continuedBy = (
  events: EventBuilder,
  toolCalls: ReadonlyArray<ToolCallSoFar>,
  delta: ToolCallDelta
): ToolCallSoFar | undefined => {
  const { id, name, serverIndex } = delta
  const found =
    (id === undefined ? undefined : toolCalls.findLast((toolCall) => toolCall.id === id)) ??
    (serverIndex === undefined ? undefined : toolCalls.findLast((toolCall) => toolCall.serverIndex === serverIndex)) ??
    (serverIndex === undefined && (id === undefined || name === undefined) ? toolCalls.at(-1) : undefined)
  return found !== undefined && startsAnother(found, argumentsOf(events, found), delta) ? undefined : found
}

const argumentsOf = (events: EventBuilder, { index, pendingArguments }: ToolCallSoFar): string =>
  index === undefined ? pendingArguments : events.argumentsOf(index)

/**
 * True when the delta cannot be a part of this call, which has these arguments so far. Only a delta with a name can.
 */
const startsAnother = (toolCall: ToolCallSoFar, argumentsSoFar: string, delta: ToolCallDelta): boolean => {
  if (delta.name === undefined || toolCall.name === undefined) return false
  const hasOtherArguments = delta.fragment.trim() !== "" && delta.fragment !== argumentsSoFar
  const hasOtherName = toolCall.name !== delta.name
  if (delta.id !== undefined && delta.id === toolCall.id) {
    const indexesAgree =
      delta.serverIndex === undefined ||
      toolCall.serverIndex === undefined ||
      delta.serverIndex === toolCall.serverIndex
    return indexesAgree
      ? hasOtherArguments && isJsonObject(argumentsSoFar)
      : hasOtherName || isJsonObject(argumentsSoFar)
  }
  if (hasOtherName) return true
  const hasOtherId = delta.id !== undefined && toolCall.id !== undefined
  return isJsonObject(argumentsSoFar) ? hasOtherArguments || hasOtherId : hasOtherId && delta.fragment === ""
}
