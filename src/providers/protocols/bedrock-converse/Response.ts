/**
 * Responses of Converse. A plain response is read as a stream in which every content block comes in one piece, so that
 * the two cannot differ.
 */
import type { Result } from "effect"

import { broken, type Failure } from "../../../domain/Failure.ts"
import type { WireCall } from "../Protocol.ts"
import { asNumber, asObject, asText, type Fields } from "../shared/Field.ts"
import type { CompletionEvents } from "../shared/response/EventBuilder.ts"
import { finishReasonTable, readFinishReason } from "../shared/response/FinishReasons.ts"
import {
  newResponseState,
  responseReader,
  type ResponseState,
  toolCallWithoutName
} from "../shared/response/ResponseReader.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { modelFamilyOf } from "./ModelFamilies.ts"
import { localStops, mayCallTools } from "./Request.ts"
import { usageIn } from "./Usage.ts"

const finishReasons = finishReasonTable(
  {
    stop: ["end_turn", "stop_sequence"],
    length: ["max_tokens", "model_context_window_exceeded"],
    tool_calls: ["tool_use"],
    content_filter: ["guardrail_intervened", "content_filtered"]
  },
  { broken: ["malformed_model_output", "malformed_tool_use"] }
)

/** An open content block. Text blocks and tool calls that are left out need no state. */
type Block =
  | { readonly type: "reasoning"; signature: string; readonly redacted: Array<string> }
  | { readonly type: "tool_use"; readonly toolCall: number }

interface State extends ResponseState {
  /** Converse cannot be asked for one tool call at most, nor for none, so the calls after these are left out. */
  readonly maxToolCalls: number
  toolCalls: number
  readonly reasoningFormat: string
  /** Open blocks by their index in the message. */
  readonly blocks: Map<number, Block>
  hasMetadata: boolean
}

const initialState = (call: WireCall): State => ({
  ...newResponseState(call, localStops(call)),
  maxToolCalls: maxToolCallsOf(call),
  toolCalls: 0,
  reasoningFormat: modelFamilyOf(call).reasoningFormat,
  blocks: new Map(),
  hasMetadata: false
})

const maxToolCallsOf = (call: WireCall): number => {
  if (!mayCallTools(call)) return 0
  return call.request.parallelToolCalls ? Infinity : 1
}

const readBody = (state: State, body: Fields): Failure | undefined => {
  const failure = failureInBody(body)
  if (failure !== undefined) return failure
  const content = asObject(asObject(body["output"])?.["message"])?.["content"]
  if (!Array.isArray(content)) return broken("The provider's answer has no content.")
  for (const [index, item] of content.entries()) {
    const block = asObject(item) ?? {}
    const blockFailure = startBlock(state, index, block)
    if (blockFailure !== undefined) return blockFailure
    readDelta(state, index, deltaOf(block))
    stopBlock(state, index)
  }
  state.events.setUsage(usageIn(body))
  return readFinishReason(state, finishReasons, asText(body["stopReason"]))
}

/** A content block of a plain response as the one delta that would bring all of it. */
const deltaOf = ({ reasoningContent, text, toolUse }: Fields): Fields => {
  const reasoning = asObject(reasoningContent)
  const input = asObject(asObject(toolUse)?.["input"])
  return {
    text,
    ...(reasoning && { reasoningContent: { ...asObject(reasoning["reasoningText"]), ...reasoning } }),
    ...(input && { toolUse: { input: JSON.stringify(input) } })
  }
}

const readEvent = (state: State, fields: Fields, name: string): Failure | undefined => {
  const failure = readNamedEvent(state, fields, name)
  // The usage comes after the finish reason, in most streams.
  state.ended = state.hasMetadata && state.finishReason !== undefined
  return failure
}

const readNamedEvent = (state: State, fields: Fields, name: string): Failure | undefined => {
  const index = asNumber(fields["contentBlockIndex"]) ?? 0
  switch (name) {
    case "contentBlockStart":
      return startBlock(state, index, asObject(fields["start"]) ?? {})
    case "contentBlockDelta":
      readDelta(state, index, asObject(fields["delta"]) ?? {})
      return undefined
    case "contentBlockStop":
      stopBlock(state, index)
      return undefined
    case "messageStop":
      return readFinishReason(state, finishReasons, asText(fields["stopReason"]))
    case "metadata":
      state.hasMetadata = true
      state.events.setUsage(usageIn(fields))
      return undefined
    default:
      return undefined
  }
}

/** Only tool calls have to be started; text and reasoning blocks start with their first delta. */
const startBlock = (state: State, index: number, start: Fields): Failure | undefined => {
  stopBlock(state, index)
  const toolUse = asObject(start["toolUse"])
  if (toolUse === undefined || state.toolCalls >= state.maxToolCalls) return undefined
  const name = asText(toolUse["name"])
  if (name === undefined) return toolCallWithoutName()
  state.toolCalls++
  const toolCall = state.events.startToolCall(asText(toolUse["toolUseId"]), name)
  state.blocks.set(index, { type: "tool_use", toolCall })
  return undefined
}

/** The members of a delta show which type of block it belongs to. */
const readDelta = (state: State, index: number, delta: Fields): void => {
  const { blocks, events } = state
  const reasoning = asObject(delta["reasoningContent"])
  if (reasoning !== undefined) return readReasoning(state, index, reasoning)
  const block = blocks.get(index)
  const input = asText(asObject(delta["toolUse"])?.["input"])
  if (block?.type === "tool_use" && input !== undefined) events.appendArguments(block.toolCall, input)
  else events.appendText(asText(delta["text"]) ?? "")
}

const readReasoning = ({ blocks, events, reasoningFormat }: State, index: number, delta: Fields): void => {
  const open = blocks.get(index)
  const block: Block = open?.type === "reasoning" ? open : { type: "reasoning", signature: "", redacted: [] }
  blocks.set(index, block)
  const redacted = asText(delta["redactedContent"])
  block.signature += asText(delta["signature"]) ?? ""
  if (redacted !== undefined) block.redacted.push(redacted)
  events.appendReasoningBlock(asText(delta["text"]) ?? "", { format: reasoningFormat, index })
}

const stopBlock = ({ blocks, events, reasoningFormat: format }: State, index: number): void => {
  const block = blocks.get(index)
  blocks.delete(index)
  if (block?.type !== "reasoning") return
  events.appendSignature(block.signature, { format, index })
  if (block.redacted.length > 0) events.appendEncrypted(joinedBase64(block.redacted), { format, index })
}

/** One text in base64 for bytes that came in pieces, each in base64 of its own. */
const joinedBase64 = (pieces: ReadonlyArray<string>): string =>
  pieces.length === 1
    ? (pieces[0] ?? "")
    : Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64")

const finish = (state: State): Result.Result<CompletionEvents, Failure> => {
  for (const index of state.blocks.keys()) stopBlock(state, index)
  return state.events.finish(state.finishReason)
}

export const { decode, reader } = responseReader<State>({
  initialState,
  readBody,
  // An exception without content is one all the same.
  isIgnored: (frame) => frame.data === "" && failureOfEvent(frame) === undefined,
  failureOfEvent,
  readEvent,
  isComplete: ({ finishReason }) => finishReason !== undefined,
  finish
})
