/**
 * Answers in Anthropic's form as events. A plain answer is read as a stream in which every block begins whole, so that
 * the two cannot differ.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../domain/Completion.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import type { ProviderFrame, StreamReader, WireCall } from "../Protocol.ts"
import { type AnswerEvents, answerEvents, type Events } from "../shared/AnswerEvents.ts"
import { failureOfKind } from "../shared/ErrorClassifier.ts"
import { asNumber, asObject, asText, type Fields, parsedFrame } from "../shared/Field.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { localStops } from "./Request.ts"
import { type ReportedCounts, updatedCounts, usageIn } from "./Usage.ts"

const noEvents: Result.Result<Events, Failure> = Result.succeed([])

/** A reason that is not in the table is a broken answer. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  ["sensitive", "content_filter"]
])

type Block =
  | { readonly type: "text" }
  | { readonly type: "thinking"; readonly index: number; signature: string }
  | { readonly type: "tool"; readonly index: number; readonly input: Fields | undefined; wrote: boolean }

interface Reading {
  readonly answer: AnswerEvents
  /** Open blocks by their index in the answer. Blocks of types that the gateway does not know are not among them. */
  readonly blocks: Map<number, Block>
  counts: ReportedCounts
  finish: FinishReason | undefined
}

const begin = (call: WireCall): Reading => ({
  answer: answerEvents(call, localStops(call)),
  blocks: new Map(),
  counts: {},
  finish: undefined
})

export const decode = (body: unknown, call: WireCall): Result.Result<Events, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
  const failure = failureInBody(fields)
  if (failure !== undefined) return Result.fail(failure)
  if (!Array.isArray(fields["content"])) return Result.fail(broken("The provider's answer has no content."))
  const reading = begin(call)
  readUsage(reading, fields)
  reading.answer.named(asText(fields["id"]))
  for (const [index, block] of fields["content"].entries()) {
    const nameless = startBlock(reading, index, asObject(block) ?? {})
    if (nameless !== undefined) return Result.fail(nameless)
    stopBlock(reading, index)
  }
  const failing = readFinish(reading, asText(fields["stop_reason"]))
  return failing === undefined ? end(reading) : Result.fail(failing)
}

export const reader = (call: WireCall): StreamReader => {
  const reading = begin(call)
  let done = false
  const step = (frame: ProviderFrame): Result.Result<Events, Failure> => {
    const { data, event } = frame
    if (data === "" || event === "ping" || done) return noEvents
    const error = failureOfEvent(frame)
    if (error !== undefined) return Result.fail(error)
    const json = parsedFrame(data)
    if (Result.isFailure(json)) return Result.fail(json.failure)
    const fields = json.success
    const type = asText(fields["type"]) ?? event
    const failure = failureInBody(fields) ?? read(reading, type, fields)
    if (failure !== undefined) return Result.fail(failure)
    done = type === "message_stop"
    return Result.succeed(reading.answer.take())
  }
  return {
    step,
    ended: () => done,
    finish: () => (done ? end(reading) : Result.fail(broken("The provider's stream broke off before its end.")))
  }
}

const read = (reading: Reading, type: string, fields: Fields): Failure | undefined => {
  const index = asNumber(fields["index"]) ?? 0
  switch (type) {
    case "message_start": {
      const message = asObject(fields["message"]) ?? {}
      reading.answer.named(asText(message["id"]))
      readUsage(reading, message)
      return undefined
    }
    case "content_block_start":
      return startBlock(reading, index, asObject(fields["content_block"]) ?? {})
    case "content_block_delta":
      readDelta(reading, index, asObject(fields["delta"]) ?? {})
      return undefined
    case "content_block_stop":
      stopBlock(reading, index)
      return undefined
    case "message_delta":
      readUsage(reading, fields)
      return readFinish(reading, asText(asObject(fields["delta"])?.["stop_reason"]))
    default:
      return undefined
  }
}

const readUsage = (reading: Reading, fields: Fields): void => {
  const given = asObject(fields["usage"])
  if (given === undefined) return
  reading.counts = updatedCounts(reading.counts, given)
  const usage = usageIn(reading.counts)
  if (usage !== undefined) reading.answer.usage(usage)
}

const readFinish = (reading: Reading, reason: string | undefined): Failure | undefined => {
  if (reason === undefined) return undefined
  const known = finishReasons.get(reason)
  if (known === undefined) return failureOfKind("broken", `The provider ended its answer with "${reason}".`)
  reading.finish = known
  return undefined
}

/** A block may begin with content that a stream would bring later, as all blocks of a plain answer do. */
const startBlock = (reading: Reading, index: number, block: Fields): Failure | undefined => {
  const { answer, blocks } = reading
  stopBlock(reading, index)
  switch (block["type"]) {
    case "text":
      blocks.set(index, { type: "text" })
      readDelta(reading, index, block)
      return undefined
    case "thinking":
      blocks.set(index, { type: "thinking", index, signature: "" })
      readDelta(reading, index, block)
      return undefined
    case "redacted_thinking":
      answer.detail({ type: "reasoning.encrypted", data: block["data"], format, index })
      return undefined
    case "tool_use": {
      const name = asText(block["name"])
      if (name === undefined) return broken("The provider sent a tool call without a name.")
      const tool = answer.openTool(asText(block["id"]), name)
      blocks.set(index, { type: "tool", index: tool, input: asObject(block["input"]), wrote: false })
      return undefined
    }
    default:
      return undefined
  }
}

const format = "anthropic-claude-v1"

/** What a delta holds tells what it is, so its own type is not asked. */
const readDelta = ({ answer, blocks }: Reading, index: number, delta: Fields): void => {
  const block = blocks.get(index)
  if (block === undefined) return
  switch (block.type) {
    case "text":
      return answer.text(asText(delta["text"]) ?? "")
    case "thinking": {
      const text = asText(delta["thinking"])
      block.signature += asText(delta["signature"]) ?? ""
      if (text === undefined) return
      answer.reasoning(text)
      return answer.detail({ type: "reasoning.text", text, format, index: block.index })
    }
    case "tool": {
      const fragment = asText(delta["partial_json"])
      if (fragment === undefined) return
      block.wrote = true
      return answer.toolArguments(block.index, fragment)
    }
  }
}

/** The signature closes its block, also one without a word in it: that is how hidden thinking comes. */
const stopBlock = ({ answer, blocks }: Reading, index: number): void => {
  const block = blocks.get(index)
  blocks.delete(index)
  if (block?.type === "thinking" && block.signature !== "")
    answer.detail({ type: "reasoning.text", text: "", signature: block.signature, format, index })
  if (block?.type === "tool" && !block.wrote && block.input !== undefined)
    answer.toolArguments(block.index, JSON.stringify(block.input))
}

const end = (reading: Reading): Result.Result<Events, Failure> => {
  for (const index of reading.blocks.keys()) stopBlock(reading, index)
  return reading.answer.close(reading.finish)
}
