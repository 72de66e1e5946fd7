/**
 * Answers in OpenAI's form as events. A plain answer is read as a stream of one chunk whose delta is the whole message,
 * so that the two cannot differ.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../domain/Completion.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import type { ProviderFrame, StreamReader, WireCall } from "../Protocol.ts"
import { type AnswerEvents, answerEvents, type Events } from "../shared/AnswerEvents.ts"
import { dialects } from "../shared/Dialects.ts"
import { failureOfKind } from "../shared/ErrorClassifier.ts"
import type { FailureKind } from "../shared/FailureKind.ts"
import { asArray, asObject, asObjects, asText, type Fields, firstText, parsedFrame } from "../shared/Field.ts"
import { passThrough, type TextFilter, withoutThinkTags } from "../shared/TextFilters.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { localStops } from "./Request.ts"
import { type ToolCallReader, toolCallReader } from "./ToolCalls.ts"
import { usageIn } from "./Usage.ts"

const noEvents: Result.Result<Events, Failure> = Result.succeed([])

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["end", "stop"],
  ["eos", "stop"],
  ["length", "length"],
  ["model_length", "length"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
  ["sensitive", "content_filter"]
])

/** Reasons that are failures. One that is in neither table is a broken answer. */
const failingReasons: ReadonlyMap<string, FailureKind> = new Map([
  ["error", "server"],
  ["network_error", "network"],
  ["insufficient_system_resource", "overloaded"]
])

interface Reading {
  readonly answer: AnswerEvents
  readonly calls: ToolCallReader
  readonly content: TextFilter
  finish: FinishReason | undefined
}

const begin = (call: WireCall): Reading => {
  const answer = answerEvents(call, localStops(call))
  const tagged = dialects[call.dialect].thinkTags && call.model.reasoning.support !== "none"
  return {
    answer,
    calls: toolCallReader(answer),
    content: tagged ? withoutThinkTags((text) => think(answer, text)) : passThrough,
    finish: undefined
  }
}

export const decode = (body: unknown, call: WireCall): Result.Result<Events, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
  const reading = begin(call)
  const failure = read(reading, fields)
  if (failure !== undefined) return Result.fail(failure)
  const choice = asObject(asArray(fields["choices"])[0])
  if (choice === undefined) return Result.fail(broken("The provider's answer has no choices."))
  if (reading.finish === undefined && asObject(choice["message"]) === undefined)
    return Result.fail(broken("The provider's answer has no message."))
  return end(reading, call, true)
}

export const reader = (call: WireCall): StreamReader => {
  const reading = begin(call)
  let done = false
  const step = (frame: ProviderFrame): Result.Result<Events, Failure> => {
    const { data } = frame
    if (data === "" || done) return noEvents
    if (data.trim() === "[DONE]") {
      done = true
      return noEvents
    }
    const error = failureOfEvent(frame)
    if (error !== undefined) return Result.fail(error)
    const chunk = parsedFrame(data)
    if (Result.isFailure(chunk)) return Result.fail(chunk.failure)
    const failure = read(reading, chunk.success)
    return failure === undefined ? Result.succeed(reading.answer.take()) : Result.fail(failure)
  }
  return { step, ended: () => done, finish: () => end(reading, call, done) }
}

/** Reads one body or chunk; what it says is in `reading.answer` afterwards. */
const read = (reading: Reading, fields: Fields): Failure | undefined => {
  const choice = asObject(asArray(fields["choices"])[0])
  const failure = failureInBody(fields)
  if (failure !== undefined) return failure
  reading.answer.named(asText(fields["id"]))
  if (choice !== undefined) {
    const message = asObject(choice["message"])
    const delta = asObject(choice["delta"]) ?? message
    const mistyped = mistypedMember(choice, delta)
    if (mistyped !== undefined) return broken(`The provider's ${mistyped} is no text.`)
    if (delta !== undefined) readDelta(reading, delta, delta === message)
    const failing = readFinish(reading, asText(choice["finish_reason"]))
    if (failing !== undefined) return failing
  }
  const usage = usageIn(fields, choice)
  if (usage !== undefined) reading.answer.usage(usage)
  return undefined
}

/** What other protocols find out by the end that is missing: here a missing reason can be a server's habit. */
const mistypedMember = (choice: Fields, delta: Fields | undefined): string | undefined => {
  if (!["string", "undefined"].includes(typeof (choice["finish_reason"] ?? undefined))) return "finish reason"
  const content = delta?.["content"] ?? undefined
  return content === undefined || typeof content === "string" || Array.isArray(content) ? undefined : "content"
}

/** A chunk without a reason takes nothing back. */
const readFinish = (reading: Reading, reason: string | undefined): Failure | undefined => {
  if (reason === undefined) return undefined
  const known = finishReasons.get(reason)
  if (known === undefined)
    return failureOfKind(failingReasons.get(reason) ?? "broken", `The provider ended its answer with "${reason}".`)
  reading.finish = known
  return undefined
}

const readDelta = (reading: Reading, delta: Fields, whole: boolean): void => {
  const { answer } = reading
  readReasoning(answer, delta)
  const { content } = delta
  if (typeof content === "string") readText(reading, content)
  else for (const part of asArray(content)) readPart(reading, asObject(part) ?? {})
  const refusal = asText(delta["refusal"])
  if (refusal !== undefined) answer.refusal(refusal)
  if (delta["tool_calls"] !== undefined) reading.calls.read(delta["tool_calls"], whole)
}

const readText = ({ answer, content }: Reading, text: string): void => {
  if (text !== "") answer.text(content.push(text))
}

/** Mistral's content is a list of chunks when the model thinks. */
const readPart = (reading: Reading, part: Fields): void => {
  if (part["type"] === "thinking") {
    const { thinking } = part
    const texts = typeof thinking === "string" ? [thinking] : asArray(thinking).map((item) => asObject(item)?.["text"])
    think(reading.answer, texts.map((text) => asText(text) ?? "").join(""))
  } else if (part["type"] === "text") readText(reading, asText(part["text"]) ?? "")
}

/** Some servers send the same reasoning under two names; the first that is not empty counts. */
const readReasoning = (answer: AnswerEvents, delta: Fields): void => {
  const text = firstText(delta, ["reasoning_content", "reasoning", "reasoning_text"])
  const details = asObjects(delta["reasoning_details"])
  if (details.length === 0) {
    if (text !== undefined) think(answer, text)
    return
  }
  answer.reasoning(text ?? details.map((detail) => firstText(detail, ["text", "summary"]) ?? "").join(""))
  for (const detail of details) answer.detail(detail)
}

/** Reasoning that came as bare text, as text for people and as the block in which it can come back. */
const think = (answer: AnswerEvents, text: string): void => {
  if (text === "") return
  answer.reasoning(text)
  answer.detail({ type: "reasoning.text", text, format: "unknown", index: 0 })
}

/** `marked`: the server's own end marker was seen, so that a missing reason is its habit and not a lost connection. */
const end = (reading: Reading, call: WireCall, marked: boolean): Result.Result<Events, Failure> => {
  const named = reading.calls.close()
  if (Result.isFailure(named)) return Result.fail(named.failure)
  reading.answer.text(reading.content.flush())
  const habit = marked && dialects[call.dialect].finishReason === "sometimes" ? "stop" : undefined
  return reading.answer.close(reading.finish ?? habit)
}
