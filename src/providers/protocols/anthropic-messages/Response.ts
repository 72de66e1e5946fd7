/**
 * Responses of the Messages API. A plain response is read as a stream in which every content block starts with all of
 * its content, so that the two cannot differ.
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
import { localStops } from "./Request.ts"
import { type ReportedCounts, updatedCounts, usageIn } from "./Usage.ts"

const finishReasons = finishReasonTable({
  stop: ["end_turn", "stop_sequence", "pause_turn"],
  length: ["max_tokens", "model_context_window_exceeded"],
  tool_calls: ["tool_use"],
  content_filter: ["refusal", "sensitive"]
})

/** An open content block. Blocks of other types are ignored. */
type Block =
  | { readonly type: "text" }
  | { readonly type: "thinking"; signature: string }
  | {
      readonly type: "tool_use"
      readonly toolCall: number
      /** The arguments that the block started with; they count when no fragment follows. */
      readonly input: Fields | undefined
      hasFragments: boolean
    }

interface State extends ResponseState {
  /** Open blocks by their index in the message. */
  readonly blocks: Map<number, Block>
  counts: ReportedCounts
}

const initialState = (call: WireCall): State => ({
  ...newResponseState(call, localStops(call)),
  blocks: new Map(),
  counts: {}
})

const readBody = (state: State, body: Fields): Failure | undefined => {
  const failure = failureInBody(body)
  if (failure !== undefined) return failure
  if (!Array.isArray(body["content"])) return broken("The provider's answer has no content.")
  readMessage(state, body)
  for (const [index, block] of body["content"].entries()) {
    const blockFailure = startBlock(state, index, asObject(block) ?? {})
    if (blockFailure !== undefined) return blockFailure
    stopBlock(state, index)
  }
  return readStop(state, body)
}

const readStop = (state: State, fields: Fields): Failure | undefined => {
  state.events.setStopSequence(asText(fields["stop_sequence"]))
  return readFinishReason(state, finishReasons, asText(fields["stop_reason"]))
}

const readEvent = (state: State, fields: Fields, name: string): Failure | undefined => {
  const failure = failureInBody(fields)
  if (failure !== undefined) return failure
  const index = asNumber(fields["index"]) ?? 0
  switch (asText(fields["type"]) ?? name) {
    case "message_start":
      // A server in between has spliced another message into this one; repeated starts before any block do no harm.
      if (state.blocks.size > 0) return broken("The provider started another answer before a block had ended.")
      readMessage(state, asObject(fields["message"]) ?? {})
      return undefined
    case "content_block_start":
      return startBlock(state, index, asObject(fields["content_block"]) ?? {})
    case "content_block_delta":
      readDelta(state, index, asObject(fields["delta"]) ?? {})
      return undefined
    case "content_block_stop":
      stopBlock(state, index)
      return undefined
    case "message_delta":
      readUsage(state, fields)
      return readStop(state, asObject(fields["delta"]) ?? {})
    case "message_stop":
      state.ended = true
      return undefined
    default:
      return undefined
  }
}

const readMessage = (state: State, message: Fields): void => {
  state.events.setResponseId(asText(message["id"]))
  readUsage(state, message)
}

const readUsage = (state: State, fields: Fields): void => {
  const usage = asObject(fields["usage"])
  if (usage === undefined) return
  state.counts = updatedCounts(state.counts, usage)
  state.events.setUsage(usageIn(state.counts))
}

/** A block may start with content that a stream would bring later, as all blocks of a plain response do. */
const startBlock = (state: State, index: number, block: Fields): Failure | undefined => {
  const { blocks, events } = state
  stopBlock(state, index)
  switch (block["type"]) {
    case "text":
      blocks.set(index, { type: "text" })
      readDelta(state, index, block)
      return undefined
    case "thinking":
      blocks.set(index, { type: "thinking", signature: "" })
      readDelta(state, index, block)
      return undefined
    case "redacted_thinking":
      events.appendEncrypted(block["data"], { format, index })
      return undefined
    case "tool_use": {
      const name = asText(block["name"])
      if (name === undefined) return toolCallWithoutName()
      const toolCall = events.startToolCall(asText(block["id"]), name)
      blocks.set(index, { type: "tool_use", toolCall, input: asObject(block["input"]), hasFragments: false })
      return undefined
    }
    default:
      return undefined
  }
}

const format = "anthropic-claude-v1"

/** The block decides what a delta means, so the type of the delta is not read. */
const readDelta = ({ blocks, events }: State, index: number, delta: Fields): void => {
  const block = blocks.get(index)
  switch (block?.type) {
    case undefined:
      return undefined
    case "text":
      return events.appendText(asText(delta["text"]) ?? "")
    case "thinking":
      block.signature += asText(delta["signature"]) ?? ""
      return events.appendReasoningBlock(asText(delta["thinking"]) ?? "", { format, index })
    case "tool_use": {
      const fragment = asText(delta["partial_json"])
      if (fragment === undefined) return undefined
      block.hasFragments = true
      return events.appendArguments(block.toolCall, fragment)
    }
  }
}

const stopBlock = ({ blocks, events }: State, index: number): void => {
  const block = blocks.get(index)
  blocks.delete(index)
  if (block?.type === "thinking") events.appendSignature(block.signature, { format, index })
  if (block?.type === "tool_use" && !block.hasFragments && block.input !== undefined)
    events.appendArguments(block.toolCall, JSON.stringify(block.input))
}

const finish = (state: State): Result.Result<CompletionEvents, Failure> => {
  for (const index of state.blocks.keys()) stopBlock(state, index)
  return state.events.finish(state.finishReason)
}

export const { decode, reader } = responseReader<State>({
  initialState,
  readBody,
  isIgnored: ({ data, event }) => data === "" || event === "ping",
  failureOfEvent,
  readEvent,
  isComplete: ({ ended }) => ended,
  finish
})
