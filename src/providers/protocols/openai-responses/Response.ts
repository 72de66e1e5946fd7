/**
 * Answers of the Responses API as events. A plain answer is read like the last event of a stream of which nothing else
 * arrived, so that the two cannot differ; and what a stream left out is made good from its last event.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../domain/Completion.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import type { ProviderFrame, StreamReader, WireCall } from "../Protocol.ts"
import { type AnswerEvents, answerEvents, type Events } from "../shared/AnswerEvents.ts"
import { failureOfKind } from "../shared/ErrorClassifier.ts"
import { asArray, asNumber, asObject, asText, type Fields, parsedFrame } from "../shared/Field.ts"
import { failureInBody, failureOfEvent } from "./Errors.ts"
import * as Items from "./OutputItems.ts"
import { localStops } from "./Request.ts"
import { usageIn } from "./Usage.ts"

const noEvents: Result.Result<Events, Failure> = Result.succeed([])

/** Why an answer is incomplete. A reason that is not in the table is a broken answer. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["max_output_tokens", "length"],
  ["max_tokens", "length"],
  ["content_filter", "content_filter"]
])

interface Reading {
  readonly answer: AnswerEvents
  readonly items: Items.Items
  finish: FinishReason | undefined
}

const begin = (call: WireCall): Reading => {
  const answer = answerEvents(call, localStops(call))
  return { answer, items: Items.noItems(answer, call.dialect), finish: undefined }
}

export const decode = (body: unknown, call: WireCall): Result.Result<Events, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
  const reading = begin(call)
  const failure = readResponse(reading, fields, asText(fields["status"]) ?? "unfinished")
  if (failure !== undefined) return Result.fail(failure)
  if (!Array.isArray(fields["output"])) return Result.fail(broken("The provider's answer has no output."))
  return end(reading)
}

export const reader = (call: WireCall): StreamReader => {
  const reading = begin(call)
  let done = false
  const step = (frame: ProviderFrame): Result.Result<Events, Failure> => {
    const { data, event } = frame
    // The end is told by an event; some servers send the mark of other protocols after it.
    if (data === "" || data === "[DONE]" || done) return noEvents
    const error = failureOfEvent(frame)
    if (error !== undefined) return Result.fail(error)
    const json = parsedFrame(data)
    if (Result.isFailure(json)) return Result.fail(json.failure)
    const fields = json.success
    const type = asText(fields["type"]) ?? event
    const failure = failureInBody(fields) ?? read(reading, type, fields)
    if (failure !== undefined) return Result.fail(failure)
    done = reading.finish !== undefined
    return Result.succeed(reading.answer.take())
  }
  return {
    step,
    ended: () => done,
    finish: () => (done ? end(reading) : Result.fail(broken("The provider's stream broke off before its end.")))
  }
}

const read = (reading: Reading, type: string, fields: Fields): Failure | undefined => {
  switch (type) {
    case "response.created":
      reading.answer.named(asText(asObject(fields["response"])?.["id"]))
      return undefined
    case "response.output_item.added":
      Items.begin(reading.items, asNumber(fields["output_index"]), asObject(fields["item"]) ?? {})
      return undefined
    case "response.output_item.done":
      Items.complete(reading.items, asNumber(fields["output_index"]), asObject(fields["item"]) ?? {})
      return undefined
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
    case "response.cancelled":
      return readResponse(reading, asObject(fields["response"]) ?? {}, type.slice("response.".length))
    default:
      readPiece(reading.items, type, fields)
      return undefined
  }
}

interface Utterance {
  readonly kind: Items.Kind
  /** The member that holds the whole of it when it is done. */
  readonly whole: string
  /** The member that numbers the parts of an item. */
  readonly part: string
}

const utterances: ReadonlyMap<string, Utterance> = new Map([
  ["response.output_text", { kind: "text", whole: "text", part: "content_index" }],
  ["response.refusal", { kind: "refusal", whole: "refusal", part: "content_index" }],
  ["response.reasoning_summary_text", { kind: "summary", whole: "text", part: "summary_index" }],
  ["response.reasoning_text", { kind: "thought", whole: "text", part: "content_index" }],
  ["response.function_call_arguments", { kind: "arguments", whole: "arguments", part: "" }]
])

/** Events named `<utterance>.delta` and `<utterance>.done`. Others say nothing that these do not. */
const readPiece = (items: Items.Items, type: string, fields: Fields): void => {
  const dot = type.lastIndexOf(".")
  const ending = type.slice(dot + 1)
  const utterance = utterances.get(type.slice(0, dot))
  if (utterance === undefined || (ending !== "delta" && ending !== "done")) return
  const whole = ending === "done"
  const text = asText(fields[whole ? utterance.whole : "delta"])
  if (text === undefined) return
  Items.say(
    items,
    { index: asNumber(fields["output_index"]), id: asText(fields["item_id"]) },
    { kind: utterance.kind, part: asNumber(fields[utterance.part]) ?? 0, text, whole }
  )
}

/** Reads a response as it stands at its end. */
const readResponse = (reading: Reading, response: Fields, status: string): Failure | undefined => {
  const failure = failureInBody(response)
  if (failure !== undefined) return failure
  if (status === "failed" || status === "cancelled")
    return failureOfKind("server", `The provider ended its answer as ${status}.`)
  reading.answer.named(asText(response["id"]))
  for (const [index, item] of asArray(response["output"]).entries())
    Items.complete(reading.items, index, asObject(item) ?? {})
  const usage = usageIn(response)
  if (usage !== undefined) reading.answer.usage(usage)
  const reason = asText(asObject(response["incomplete_details"])?.["reason"])
  reading.finish = status === "completed" ? "stop" : finishReasons.get(reason ?? "")
  return reading.finish === undefined
    ? failureOfKind("broken", `The provider's answer is ${status}${reason === undefined ? "" : ` for "${reason}"`}.`)
    : undefined
}

const end = (reading: Reading): Result.Result<Events, Failure> => {
  const fault = Items.close(reading.items, reading.finish === "stop")
  return fault === undefined ? reading.answer.close(reading.finish) : Result.fail(fault)
}
