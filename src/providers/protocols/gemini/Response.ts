/**
 * Answers in Gemini's form as events. Every chunk of a stream is a whole response with further parts, so a plain answer
 * is read as a stream of one chunk, and the two cannot differ.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../domain/Completion.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import * as Usage from "../../../domain/Usage.ts"
import type { ProviderFrame, StreamReader, WireCall } from "../Protocol.ts"
import { type AnswerEvents, answerEvents, type Events } from "../shared/AnswerEvents.ts"
import { failureOfKind } from "../shared/ErrorClassifier.ts"
import type { FailureKind } from "../shared/FailureKind.ts"
import { asObject, asObjects, asText, type Fields, parsedFrame } from "../shared/Field.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import { localStops } from "./Request.ts"
import { callSignatureDetail, textSignatureDetail, thoughtDetail } from "./Signatures.ts"
import { usageIn } from "./Usage.ts"

const noEvents: Result.Result<Events, Failure> = Result.succeed([])

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  // One answer is over, and another request could go on with it.
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"]
])

/** Reasons that are failures other than a broken answer, which every other reason is: malformed calls and the like. */
const failingReasons: ReadonlyMap<string, FailureKind> = new Map([["LANGUAGE", "Unsupported"]])

interface Reading {
  readonly answer: AnswerEvents
  /** There is no switch for parallel calls, so all but the first are left out. */
  readonly oneCall: boolean
  calls: number
  /** The text so far, to tell where its signed parts are. */
  said: string
  /** Reasoning details so far. */
  details: number
  /** The index of a thought that may go on. */
  thought: number | undefined
  finish: FinishReason | undefined
}

const begin = (call: WireCall): Reading => ({
  answer: answerEvents(call, localStops(call)),
  oneCall: !call.request.parallelToolCalls,
  calls: 0,
  said: "",
  details: 0,
  thought: undefined,
  finish: undefined
})

/** A list of chunks is what a stream is where nobody asked for events. */
export const decode = (body: unknown, call: WireCall): Result.Result<Events, Failure> => {
  const reading = begin(call)
  for (const chunk of Array.isArray(body) ? body : [body]) {
    const fields = asObject(chunk)
    if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
    const failure = read(reading, fields)
    if (failure !== undefined) return Result.fail(failure)
  }
  return reading.answer.close(reading.finish)
}

export const reader = (call: WireCall): StreamReader => {
  const reading = begin(call)
  const step = (frame: ProviderFrame): Result.Result<Events, Failure> => {
    const { data } = frame
    // Google sends no end marker, but servers in between may.
    if (data === "" || data.trim() === "[DONE]") return noEvents
    const error = failureOfEvent(frame)
    if (error !== undefined) return Result.fail(error)
    const chunk = parsedFrame(data)
    if (Result.isFailure(chunk)) return Result.fail(chunk.failure)
    const failure = read(reading, chunk.success)
    return failure === undefined ? Result.succeed(reading.answer.take()) : Result.fail(failure)
  }
  return { step, ended: () => false, finish: () => reading.answer.close(reading.finish) }
}

/** Reads one body or chunk; what it says is in `reading.answer` afterwards. */
const read = (reading: Reading, fields: Fields): Failure | undefined => {
  const failure = failureInBody(fields)
  if (failure !== undefined) return failure
  reading.answer.named(asText(fields["responseId"]))
  const [candidate] = asObjects(fields["candidates"])
  for (const part of asObjects(asObject(candidate?.["content"])?.["parts"])) {
    const nameless = readPart(reading, part)
    if (nameless !== undefined) return nameless
  }
  const usage = usageIn(fields)
  if (usage !== undefined) reading.answer.usage(usage)
  if (candidate !== undefined) return readFinish(reading, asText(candidate["finishReason"]))
  // A prompt that is blocked has no candidates, and often no counts: then it was not billed either.
  if (asText(asObject(fields["promptFeedback"])?.["blockReason"]) !== undefined) {
    if (usage === undefined) reading.answer.usage(Usage.none)
    reading.finish = "content_filter"
  }
  return undefined
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

const readPart = (reading: Reading, part: Fields): Failure | undefined => {
  const { functionCall, text, thought: isThought, thoughtSignature } = part
  const signature = asText(thoughtSignature)
  const called = asObject(functionCall)
  if (called !== undefined) return readCall(reading, called, signature)
  if (typeof text !== "string") return undefined
  if (isThought === true) readThought(reading, text, signature)
  else readText(reading, text, signature)
  return undefined
}

const readCall = (reading: Reading, called: Fields, signature: string | undefined): Failure | undefined => {
  const { answer } = reading
  if (reading.oneCall && reading.calls > 0) return undefined
  const name = asText(called["name"])
  if (name === undefined) return broken("The provider sent a tool call without a name.")
  const index = answer.openTool(asText(called["id"]), name)
  reading.calls++
  answer.toolArguments(index, JSON.stringify(asObject(called["args"]) ?? {}))
  if (signature !== undefined) answer.detail(callSignatureDetail(answer.idOf(index), signature, reading.details++))
  return undefined
}

const readText = (reading: Reading, text: string, signature: string | undefined): void => {
  const { answer, calls, said } = reading
  reading.said += text
  answer.text(text)
  if (signature !== undefined)
    answer.detail(textSignatureDetail({ text: reading.said, start: said.length, calls }, signature, reading.details++))
}

/** Unsigned thoughts that follow each other are one that came in pieces. */
const readThought = (reading: Reading, text: string, signature: string | undefined): void => {
  const { answer } = reading
  if (text === "" && signature === undefined) return
  answer.reasoning(text)
  const index = (signature === undefined ? reading.thought : undefined) ?? reading.details++
  reading.thought = signature === undefined ? index : undefined
  answer.detail(thoughtDetail(text, signature, index))
}
