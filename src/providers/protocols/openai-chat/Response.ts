/**
 * Responses of chat completions. A plain response is read as a stream of one chunk whose delta is the whole message, so
 * that the two cannot differ.
 */
import { Result } from "effect"

import { broken, type Failure } from "../../../domain/Failure.ts"
import type { WireCall } from "../Protocol.ts"
import { dialects } from "../shared/Dialects.ts"
import { asArray, asObject, asObjects, asText, type Fields, firstText } from "../shared/Field.ts"
import type { CompletionEvents, EventBuilder } from "../shared/response/EventBuilder.ts"
import { finishReasonTable, readFinishReason } from "../shared/response/FinishReasons.ts"
import {
  newResponseState,
  responseReader,
  type ResponseState,
  toolCallWithoutName
} from "../shared/response/ResponseReader.ts"
import { passThrough, type TextFilter, withoutThinkTags } from "../shared/response/TextFilters.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { localStops } from "./Request.ts"
import { appendToolCalls, type ToolCallSoFar } from "./ToolCalls.ts"
import { usageIn } from "./Usage.ts"

const finishReasons = finishReasonTable(
  {
    stop: ["stop", "end", "eos"],
    length: ["length", "model_length", "max_tokens", "model_context_window_exceeded"],
    tool_calls: ["tool_calls", "function_call"],
    content_filter: ["content_filter", "sensitive"]
  },
  { server: ["error"], network: ["network_error"], overloaded: ["insufficient_system_resource"] }
)

interface State extends ResponseState {
  readonly toolCalls: Array<ToolCallSoFar>
  /** Takes `<think>` tags out of the content of servers that leave them in. */
  readonly content: TextFilter
  /** True for servers that end some responses properly and yet without a finish reason. */
  readonly mayOmitFinishReason: boolean
}

const initialState = (call: WireCall): State => {
  const state = newResponseState(call, localStops(call))
  const { finishReason, thinkTags } = dialects[call.dialect]
  const hasThinkTags = thinkTags && call.model.reasoning.support !== "none"
  return {
    ...state,
    toolCalls: [],
    content: hasThinkTags ? withoutThinkTags((text) => appendReasoning(state.events, text)) : passThrough,
    mayOmitFinishReason: finishReason === "sometimes"
  }
}

const readBody = (state: State, body: Fields): Failure | undefined => {
  const failure = readEvent(state, body)
  if (failure !== undefined) return failure
  const choice = firstChoiceIn(body)
  if (choice === undefined) return broken("The provider's answer has no choices.")
  if (state.finishReason === undefined && asObject(choice["message"]) === undefined)
    return broken("The provider's answer has no message.")
  state.ended = true
  return undefined
}

/** Reads a chunk, or a body, which differs from a chunk by the name of its `message`. */
const readEvent = (state: State, fields: Fields): Failure | undefined => {
  const failure = failureInBody(fields)
  if (failure !== undefined) return failure
  state.events.setResponseId(asText(fields["id"]))
  const choice = firstChoiceIn(fields)
  if (choice !== undefined) {
    const message = asObject(choice["message"])
    const delta = asObject(choice["delta"]) ?? message
    const mistyped = mistypedMember(choice, delta)
    if (mistyped !== undefined) return broken(`The provider's ${mistyped} is no text.`)
    if (delta !== undefined) readDelta(state, delta, delta === message)
    const finishFailure = readFinishReason(state, finishReasons, asText(choice["finish_reason"]))
    if (finishFailure !== undefined) return finishFailure
  }
  state.events.setUsage(usageIn(fields, choice))
  return undefined
}

const firstChoiceIn = (fields: Fields): Fields | undefined => asObject(asArray(fields["choices"])[0])

/**
 * The member that should be text and is not. In other protocols such an answer fails because its finish reason is
 * missing, but here some servers may leave the reason out.
 */
const mistypedMember = (choice: Fields, delta: Fields | undefined): string | undefined => {
  if (!["string", "undefined"].includes(typeof (choice["finish_reason"] ?? undefined))) return "finish reason"
  const content = delta?.["content"] ?? undefined
  return content === undefined || typeof content === "string" || Array.isArray(content) ? undefined : "content"
}

/** `isMessage` is true for the whole message of a plain response. */
const readDelta = (state: State, delta: Fields, isMessage: boolean): void => {
  const { events } = state
  readReasoning(events, delta)
  const { content } = delta
  if (typeof content === "string") readText(state, content)
  else for (const part of asArray(content)) readPart(state, asObject(part) ?? {})
  events.appendRefusal(asText(delta["refusal"]) ?? "")
  if (delta["tool_calls"] !== undefined) appendToolCalls(events, state.toolCalls, delta["tool_calls"], isMessage)
}

const readText = ({ content, events }: State, text: string): void => {
  if (text !== "") events.appendText(content.push(text))
}

/** Mistral's content is a list of parts when the model thinks. */
const readPart = (state: State, part: Fields): void => {
  if (part["type"] === "thinking") {
    const { thinking } = part
    const texts = typeof thinking === "string" ? [thinking] : asArray(thinking).map((item) => asObject(item)?.["text"])
    appendReasoning(state.events, texts.map((text) => asText(text) ?? "").join(""))
  } else if (part["type"] === "text") readText(state, asText(part["text"]) ?? "")
}

/** Some servers send the same reasoning under two names; the first that is not empty counts. */
const readReasoning = (events: EventBuilder, delta: Fields): void => {
  const text = firstText(delta, ["reasoning_content", "reasoning", "reasoning_text"])
  const details = asObjects(delta["reasoning_details"])
  if (details.length === 0) return appendReasoning(events, text ?? "")
  events.appendReasoning(text ?? details.map((detail) => firstText(detail, ["text", "summary"]) ?? "").join(""))
  for (const detail of details) events.appendDetail(detail)
}

/** Reasoning that comes as bare text is one block. */
const appendReasoning = (events: EventBuilder, text: string): void =>
  events.appendReasoningBlock(text, { format: "unknown", index: 0 })

/**
 * Some servers leave the finish reason out. Where the stream reached its end marker that is a habit of the server, and
 * where it did not the connection was lost.
 */
const finish = (state: State): Result.Result<CompletionEvents, Failure> => {
  if (state.toolCalls.some((toolCall) => toolCall.index === undefined)) return Result.fail(toolCallWithoutName())
  state.events.appendText(state.content.flush())
  const omitted = state.ended && state.mayOmitFinishReason ? "stop" : undefined
  return state.events.finish(state.finishReason ?? omitted)
}

export const { decode, reader } = responseReader<State>({
  initialState,
  readBody,
  isIgnored: ({ data }) => data === "",
  isEndMarker: ({ data }) => data.trim() === "[DONE]",
  failureOfEvent,
  readEvent,
  finish
})
