/**
 * Answers in Converse's form as events. A plain answer is read as a stream in which every block comes in one piece, so
 * that the two cannot differ.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../domain/Completion.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import type { ProviderFrame, StreamReader, WireCall } from "../Protocol.ts"
import { type AnswerEvents, answerEvents, type Events } from "../shared/AnswerEvents.ts"
import { failureOfKind } from "../shared/ErrorClassifier.ts"
import { asNumber, asObject, asText, type Fields, parsedFrame } from "../shared/Field.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { modelFamilyOf } from "./ModelFamilies.ts"
import { localStops, mayCallTools } from "./Request.ts"
import { usageIn } from "./Usage.ts"

const noEvents: Result.Result<Events, Failure> = Result.succeed([])

/** A reason that is not in the table is a broken answer. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["guardrail_intervened", "content_filter"],
  ["content_filtered", "content_filter"]
])

/** A text has no state; a call that is left out of the answer has none either. */
type Block =
  | { readonly type: "thinking"; signature: string; readonly redacted: Array<string> }
  | { readonly type: "tool"; readonly index: number }

interface Reading {
  readonly answer: AnswerEvents
  /** Calls that the client wants at most: there is no switch for parallel calls, and none for no calls. */
  readonly maxCalls: number
  readonly reasoningFormat: string
  /** Open blocks by their index in the answer. */
  readonly blocks: Map<number, Block>
  calls: number
  finish: FinishReason | undefined
}

const begin = (call: WireCall): Reading => ({
  answer: answerEvents(call, localStops(call)),
  maxCalls: !mayCallTools(call) ? 0 : call.request.parallelToolCalls ? Infinity : 1,
  reasoningFormat: modelFamilyOf(call).reasoningFormat,
  blocks: new Map(),
  calls: 0,
  finish: undefined
})

export const decode = (body: unknown, call: WireCall): Result.Result<Events, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
  const failure = failureInBody(fields)
  if (failure !== undefined) return Result.fail(failure)
  const content = asObject(asObject(fields["output"])?.["message"])?.["content"]
  if (!Array.isArray(content)) return Result.fail(broken("The provider's answer has no content."))
  const reading = begin(call)
  for (const [index, item] of content.entries()) {
    const block = asObject(item) ?? {}
    const { reasoningContent, text, toolUse } = block
    const nameless = startBlock(reading, index, block)
    if (nameless !== undefined) return Result.fail(nameless)
    const reasoning = asObject(reasoningContent)
    const input = asObject(asObject(toolUse)?.["input"])
    readDelta(reading, index, {
      text,
      ...(reasoning && { reasoningContent: { ...asObject(reasoning["reasoningText"]), ...reasoning } }),
      ...(input && { toolUse: { input: JSON.stringify(input) } })
    })
    stopBlock(reading, index)
  }
  readUsage(reading, fields)
  const failing = readFinish(reading, asText(fields["stopReason"]))
  return failing === undefined ? reading.answer.close(reading.finish) : Result.fail(failing)
}

export const reader = (call: WireCall): StreamReader => {
  const reading = begin(call)
  let counted = false
  const step = (frame: ProviderFrame): Result.Result<Events, Failure> => {
    const { data, event } = frame
    const error = failureOfEvent(frame)
    if (error !== undefined) return Result.fail(error)
    if (data === "") return noEvents
    const json = parsedFrame(data)
    if (Result.isFailure(json)) return Result.fail(json.failure)
    const failure = read(reading, event, json.success)
    if (failure !== undefined) return Result.fail(failure)
    counted ||= event === "metadata"
    return Result.succeed(reading.answer.take())
  }
  return {
    step,
    // The usage comes after the stop.
    ended: () => counted && reading.finish !== undefined,
    finish: () => end(reading)
  }
}

const read = (reading: Reading, event: string, fields: Fields): Failure | undefined => {
  const index = asNumber(fields["contentBlockIndex"]) ?? 0
  switch (event) {
    case "contentBlockStart":
      return startBlock(reading, index, asObject(fields["start"]) ?? {})
    case "contentBlockDelta":
      readDelta(reading, index, asObject(fields["delta"]) ?? {})
      return undefined
    case "contentBlockStop":
      stopBlock(reading, index)
      return undefined
    case "messageStop":
      return readFinish(reading, asText(fields["stopReason"]))
    case "metadata":
      readUsage(reading, fields)
      return undefined
    default:
      return undefined
  }
}

const readUsage = (reading: Reading, fields: Fields): void => {
  const usage = usageIn(fields)
  if (usage !== undefined) reading.answer.usage(usage)
}

const readFinish = (reading: Reading, reason: string | undefined): Failure | undefined => {
  if (reason === undefined) return undefined
  const known = finishReasons.get(reason)
  if (known === undefined) return failureOfKind("broken", `The provider ended its answer with "${reason}".`)
  reading.finish = known
  return undefined
}

/** Only calls of tools have to begin; texts and reasoning are their deltas. */
const startBlock = (reading: Reading, index: number, start: Fields): Failure | undefined => {
  stopBlock(reading, index)
  const tool = asObject(start["toolUse"])
  if (tool === undefined || reading.calls >= reading.maxCalls) return undefined
  const name = asText(tool["name"])
  if (name === undefined) return broken("The provider sent a tool call without a name.")
  reading.calls++
  reading.blocks.set(index, { type: "tool", index: reading.answer.openTool(asText(tool["toolUseId"]), name) })
  return undefined
}

/** What a delta holds tells what it is. */
const readDelta = (reading: Reading, index: number, delta: Fields): void => {
  const { answer, blocks } = reading
  const reasoning = asObject(delta["reasoningContent"])
  if (reasoning !== undefined) return readReasoning(reading, index, reasoning)
  const block = blocks.get(index)
  const input = asText(asObject(delta["toolUse"])?.["input"])
  if (block?.type === "tool" && input !== undefined) answer.toolArguments(block.index, input)
  else answer.text(asText(delta["text"]) ?? "")
}

const readReasoning = ({ answer, blocks, reasoningFormat }: Reading, index: number, delta: Fields): void => {
  const open = blocks.get(index)
  const block: Block = open?.type === "thinking" ? open : { type: "thinking", signature: "", redacted: [] }
  blocks.set(index, block)
  const text = asText(delta["text"])
  const redacted = asText(delta["redactedContent"])
  block.signature += asText(delta["signature"]) ?? ""
  if (redacted !== undefined) block.redacted.push(redacted)
  if (text === undefined) return
  answer.reasoning(text)
  answer.detail({ type: "reasoning.text", text, format: reasoningFormat, index })
}

/** The signature closes its block, also one without a word in it: that is how hidden thinking comes. */
const stopBlock = ({ answer, blocks, reasoningFormat: format }: Reading, index: number): void => {
  const block = blocks.get(index)
  blocks.delete(index)
  if (block?.type !== "thinking") return
  if (block.signature !== "")
    answer.detail({ type: "reasoning.text", text: "", signature: block.signature, format, index })
  if (block.redacted.length > 0)
    answer.detail({ type: "reasoning.encrypted", data: joined(block.redacted), format, index })
}

/** Bytes that came in pieces, each in base64. */
const joined = (pieces: ReadonlyArray<string>): string =>
  pieces.length === 1
    ? (pieces[0] ?? "")
    : Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64")

const end = (reading: Reading): Result.Result<Events, Failure> => {
  if (reading.finish === undefined) return Result.fail(broken("The provider's stream broke off before its end."))
  for (const index of reading.blocks.keys()) stopBlock(reading, index)
  return reading.answer.close(reading.finish)
}
