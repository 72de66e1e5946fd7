/**
 * Responses of Gemini. Every chunk of a stream is a whole response with further parts, so a plain response is read as a
 * stream of one chunk, and the two cannot differ.
 */
import type { Result } from "effect"

import type { Failure } from "../../../domain/Failure.ts"
import { none as noUsage } from "../../../domain/Usage.ts"
import type { WireCall } from "../Protocol.ts"
import { asObject, asObjects, asText, type Fields } from "../shared/Field.ts"
import type { CompletionEvents } from "../shared/response/EventBuilder.ts"
import { finishReasonTable, readFinishReason } from "../shared/response/FinishReasons.ts"
import {
  newResponseState,
  responseReader,
  type ResponseState,
  toolCallWithoutName
} from "../shared/response/ResponseReader.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { localStops } from "./Request.ts"
import { callSignatureDetail, textSignatureDetail, thoughtDetail } from "./Signatures.ts"
import { usageIn } from "./Usage.ts"

const finishReasons = finishReasonTable(
  {
    stop: ["STOP"],
    // After `CONTINUATION` another request could go on with the answer.
    length: ["MAX_TOKENS", "CONTINUATION"],
    content_filter: [
      "SAFETY",
      "RECITATION",
      "BLOCKLIST",
      "PROHIBITED_CONTENT",
      "SPII",
      "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT",
      "IMAGE_RECITATION"
    ]
  },
  {
    Unsupported: ["LANGUAGE"],
    broken: [
      "MALFORMED_FUNCTION_CALL",
      "UNEXPECTED_TOOL_CALL",
      "TOO_MANY_TOOL_CALLS",
      "MALFORMED_RESPONSE",
      "MISSING_THOUGHT_SIGNATURE",
      "OTHER",
      "NO_IMAGE",
      "IMAGE_OTHER",
      "FINISH_REASON_UNSPECIFIED"
    ]
  }
)

interface State extends ResponseState {
  /** Gemini cannot be asked for one tool call at most, so the calls after it are left out. */
  readonly maxToolCalls: number
  toolCalls: number
  /** The text so far, by which a signature names the part it belongs to. */
  text: string
  /** The number of reasoning details so far. */
  details: number
  /** The index of the thought that another piece may continue. */
  openThought: number | undefined
}

const initialState = (call: WireCall): State => ({
  ...newResponseState(call, localStops(call)),
  maxToolCalls: call.request.parallelToolCalls ? Infinity : 1,
  toolCalls: 0,
  text: "",
  details: 0,
  openThought: undefined
})

/** Reads a chunk; a plain response has the form of one. */
const readEvent = (state: State, fields: Fields): Failure | undefined => {
  const failure = failureInBody(fields)
  if (failure !== undefined) return failure
  const { events } = state
  events.setResponseId(asText(fields["responseId"]))
  const [candidate] = asObjects(fields["candidates"])
  for (const part of asObjects(asObject(candidate?.["content"])?.["parts"])) {
    const partFailure = readPart(state, part)
    if (partFailure !== undefined) return partFailure
  }
  const usage = usageIn(fields)
  events.setUsage(usage)
  if (candidate !== undefined) return readFinishReason(state, finishReasons, asText(candidate["finishReason"]))
  // A blocked prompt has no candidates and often no counts: then it was not billed either.
  if (asText(asObject(fields["promptFeedback"])?.["blockReason"]) !== undefined) {
    if (usage === undefined) events.setUsage(noUsage)
    state.finishReason = "content_filter"
  }
  return undefined
}

const readPart = (state: State, part: Fields): Failure | undefined => {
  const { functionCall, text, thought, thoughtSignature } = part
  const signature = asText(thoughtSignature)
  const called = asObject(functionCall)
  if (called !== undefined) return readToolCall(state, called, signature)
  if (typeof text !== "string") return undefined
  if (thought === true) readThought(state, text, signature)
  else readText(state, text, signature)
  return undefined
}

const readToolCall = (state: State, called: Fields, signature: string | undefined): Failure | undefined => {
  const { events } = state
  if (state.toolCalls >= state.maxToolCalls) return undefined
  const name = asText(called["name"])
  if (name === undefined) return toolCallWithoutName()
  state.toolCalls++
  const index = events.startToolCall(asText(called["id"]), name)
  events.appendArguments(index, JSON.stringify(asObject(called["args"]) ?? {}))
  if (signature !== undefined)
    events.appendDetail(callSignatureDetail(events.toolCallId(index), signature, state.details++))
  return undefined
}

const readText = (state: State, text: string, signature: string | undefined): void => {
  const { events, text: before, toolCalls } = state
  state.text += text
  events.appendText(text)
  if (signature === undefined) return
  const part = { text: state.text, start: before.length, calls: toolCalls }
  events.appendDetail(textSignatureDetail(part, signature, state.details++))
}

/** Thoughts without a signature that follow each other are pieces of one thought. */
const readThought = (state: State, text: string, signature: string | undefined): void => {
  if (text === "" && signature === undefined) return
  const index = (signature === undefined ? state.openThought : undefined) ?? state.details++
  state.openThought = signature === undefined ? index : undefined
  state.events.appendReasoning(text)
  state.events.appendDetail(thoughtDetail(text, signature, index))
}

const finish = (state: State): Result.Result<CompletionEvents, Failure> => state.events.finish(state.finishReason)

export const { decode, reader } = responseReader<State>({
  initialState,
  readBody: readEvent,
  // Where no event stream was asked for, a stream is a list of its chunks.
  takesList: true,
  // Google sends no end marker, but a server in between may.
  isIgnored: ({ data }) => data === "" || data.trim() === "[DONE]",
  failureOfEvent,
  readEvent,
  finish
})
