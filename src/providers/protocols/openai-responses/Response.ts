/**
 * Responses of the Responses API. A plain response is read as the last event of a stream of which nothing else arrived,
 * so that the two cannot differ. What a stream left out is taken from its last event, which has the whole response.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../domain/Completion.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import type { WireCall } from "../Protocol.ts"
import { failureOfKind } from "../shared/errors/ErrorClassifier.ts"
import { asArray, asNumber, asObject, asText, type Fields } from "../shared/Field.ts"
import type { CompletionEvents } from "../shared/response/EventBuilder.ts"
import { finishReasonTable, unknownFinishReason } from "../shared/response/FinishReasons.ts"
import { newResponseState, responseReader, type ResponseState } from "../shared/response/ResponseReader.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import type { TextKind } from "./ItemTexts.ts"
import {
  appendOrder,
  completeItem,
  itemsFailure,
  newOutputItems,
  type OutputItems,
  startItem,
  updateText
} from "./OutputItems.ts"
import { localLimit, localStops } from "./Request.ts"
import { usageIn } from "./Usage.ts"

/** Why a response is incomplete; a complete one ends with `stop`. */
const finishReasons = finishReasonTable({
  length: ["max_output_tokens", "max_tokens"],
  content_filter: ["content_filter"]
})

interface State extends ResponseState {
  readonly items: OutputItems
}

const initialState = (call: WireCall): State => {
  const state = newResponseState(call, localStops(call), localLimit(call))
  return { ...state, items: newOutputItems(state.events, call.dialect) }
}

const readBody = (state: State, body: Fields): Failure | undefined => {
  const failure = readResponse(state, body, asText(body["status"]) ?? "unfinished")
  if (failure !== undefined) return failure
  return Array.isArray(body["output"]) ? undefined : broken("The provider's answer has no output.")
}

const readEvent = (state: State, fields: Fields, name: string): Failure | undefined => {
  const failure = failureInBody(fields)
  if (failure !== undefined) return failure
  const type = asText(fields["type"]) ?? name
  switch (type) {
    case "response.created":
      state.events.setResponseId(asText(asObject(fields["response"])?.["id"]))
      return undefined
    case "response.output_item.added":
      startItem(state.items, asNumber(fields["output_index"]), asObject(fields["item"]) ?? {})
      return undefined
    case "response.output_item.done":
      completeItem(state.items, asNumber(fields["output_index"]), asObject(fields["item"]) ?? {})
      return undefined
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
    case "response.cancelled":
      return readResponse(state, asObject(fields["response"]) ?? {}, type.slice("response.".length))
    default:
      readText(state.items, type, fields)
      return undefined
  }
}

/** Reads a whole response object. `status` is its own or the one that the last event of a stream is named for. */
const readResponse = (state: State, response: Fields, status: string): Failure | undefined => {
  const failure = failureInBody(response)
  if (failure !== undefined) return failure
  if (status === "failed" || status === "cancelled")
    return failureOfKind("server", `The provider ended its answer as ${status}.`)
  state.events.setResponseId(asText(response["id"]))
  for (const [index, item] of asArray(response["output"]).entries())
    completeItem(state.items, index, asObject(item) ?? {})
  state.events.setUsage(usageIn(response))
  const reason = asText(asObject(response["incomplete_details"])?.["reason"])
  state.finishReason = status === "completed" ? "stop" : incompleteReason(state, status, reason)
  state.ended = state.finishReason !== undefined
  return state.ended
    ? undefined
    : failureOfKind("broken", `The provider's answer is ${status}${reason === undefined ? "" : ` for "${reason}"`}.`)
}

/** An incomplete response was cut off, whatever the reason is called. One that failed has no finish reason. */
const incompleteReason = (state: State, status: string, reason: string | undefined): FinishReason | undefined => {
  if (reason === undefined) return undefined
  const known = finishReasons.reasons.get(reason)
  return known ?? (status === "incomplete" ? unknownFinishReason(state, reason, "length") : undefined)
}

/** The events that bring a text of an item: its deltas, and the whole text when it is done. */
interface TextEvents {
  readonly kind: TextKind
  /** The member of the `done` event that holds the whole text. */
  readonly text: string
  /** The member that numbers the texts of this kind within the item. */
  readonly part: string
}

const textEvents: ReadonlyMap<string, TextEvents> = new Map([
  ["response.output_text", { kind: "text", text: "text", part: "content_index" }],
  ["response.refusal", { kind: "refusal", text: "refusal", part: "content_index" }],
  ["response.reasoning_summary_text", { kind: "summary", text: "text", part: "summary_index" }],
  ["response.reasoning_text", { kind: "reasoning", text: "text", part: "content_index" }],
  ["response.function_call_arguments", { kind: "arguments", text: "arguments", part: "" }]
])

/** Events named `<text>.delta` and `<text>.done`. All other events hold nothing that these do not. */
const readText = (items: OutputItems, type: string, fields: Fields): void => {
  const dot = type.lastIndexOf(".")
  const suffix = type.slice(dot + 1)
  const events = textEvents.get(type.slice(0, dot))
  if (events === undefined || (suffix !== "delta" && suffix !== "done")) return
  const isWhole = suffix === "done"
  const text = asText(fields[isWhole ? events.text : "delta"])
  if (text === undefined) return
  updateText(
    items,
    { index: asNumber(fields["output_index"]), id: asText(fields["item_id"]) },
    { kind: events.kind, part: asNumber(fields[events.part]) ?? 0, text, isWhole }
  )
}

const finish = (state: State): Result.Result<CompletionEvents, Failure> => {
  const failure = itemsFailure(state.items, state.finishReason === "stop")
  if (failure !== undefined) return Result.fail(failure)
  appendOrder(state.items)
  return state.events.finish(state.finishReason)
}

export const { decode, reader } = responseReader<State>({
  initialState,
  readBody,
  // The stream ends with an event; some servers send the end marker of chat completions after it.
  isIgnored: ({ data }) => data === "" || data === "[DONE]",
  failureOfEvent,
  readEvent,
  isComplete: ({ ended }) => ended,
  finish
})
