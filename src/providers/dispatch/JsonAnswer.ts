/**
 * The guarantee of `response_format`: an answer that is promised to be JSON is checked before anybody sees it or pays
 * for it. One that is not JSON, or does not have the shape of the schema, is a failure, and another target may answer.
 */
import { Array as Arr, Effect, Result } from "effect"

import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ResponseFormat } from "../../domain/Conversation.ts"
import { Failure } from "../../domain/Failure.ts"
import { violationOf } from "../../domain/SchemaCheck.ts"
import type { WireCall } from "../protocols/Protocol.ts"
import type { EventPull } from "./EventPull.ts"

/**
 * The events of a plain answer with its text as bare JSON: code fences around it are gone. An answer that is not
 * finished, that calls tools or that refuses promises no JSON and stays as it is.
 */
export const conforming = (
  events: ReadonlyArray<CompletionEvent>,
  format: ResponseFormat
): Result.Result<ReadonlyArray<CompletionEvent>, Failure> => {
  if (format.type === "text" || !isWholeAnswer(events)) return Result.succeed(events)
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("")
  const found = jsonIn(text)
  if (found === undefined) return Result.fail(nonconforming("is not JSON"))
  if (format.type === "json_schema" && violationOf(found.value, format.schema) !== undefined)
    return Result.fail(nonconforming("does not conform to the schema"))
  return Result.succeed(found.json === text ? events : withText(events, found.json))
}

/** False for an answer that has no text to check. */
const isWholeAnswer = (events: ReadonlyArray<CompletionEvent>): boolean =>
  events.some(isNaturalEnd) && !events.some(promisesNothing)

const isNaturalEnd = (event: CompletionEvent): boolean => event.type === "finish" && event.reason === "stop"

const promisesNothing = (event: CompletionEvent): boolean =>
  event.type === "tool" || (event.type === "refusal" && event.text !== "")

/** A longer text is not checked at the end of a stream. In characters; no model writes as many. */
const maxStreamedLength = 4_000_000

/**
 * The events of a streamed answer by a JSON mode of the endpoint, which fail in the place of the finish event if the
 * text is not JSON. What was sent cannot be taken back or failed over, but nobody pays for it. Whether it conforms to a
 * schema is left to the endpoint, which enforces it: a client could ask for what no answer fulfils, and pay for none.
 * For the same reason an answer is passed on that the client's own stop sequences may have cut.
 */
export const endingInJson = (events: EventPull, { origin, request }: WireCall): EventPull => {
  const { responseFormat, stop } = request
  if (responseFormat.type === "text" || stop.length > 0) return events
  let text = ""
  let isExempt = false
  let failed: Effect.Effect<never, Failure> | undefined
  const check = (packet: Arr.NonEmptyReadonlyArray<CompletionEvent>): EventPull => {
    for (const event of packet) {
      isExempt ||= promisesNothing(event) || text.length > maxStreamedLength
      if (event.type === "text" && !isExempt) text += event.text
    }
    if (isExempt || !packet.some(isNaturalEnd) || isJson(text)) return Effect.succeed(packet)
    failed = Effect.andThen(
      Effect.logWarning("A JSON mode gave a streamed answer that is not JSON", { origin }),
      Effect.fail(nonconforming("is not JSON"))
    )
    const sent = packet.filter(({ type }) => type !== "finish")
    return Arr.isArrayNonEmpty(sent) ? Effect.succeed(sent) : failed
  }
  return Effect.suspend(() => failed ?? Effect.flatMap(events, check))
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const fence = "```"
const openingLine = /^```[\w-]*\s*$/

/**
 * The text between code fences that stand around all of it, or the text itself. It is taken apart by position: a
 * pattern for the whole would take minutes for an answer of some thousand line breaks.
 */
const withoutFences = (text: string): string => {
  const trimmed = text.trim()
  const lineEnd = trimmed.indexOf("\n")
  return lineEnd !== -1 && openingLine.test(trimmed.slice(0, lineEnd)) && trimmed.endsWith(fence)
    ? trimmed.slice(lineEnd, -fence.length).trim()
    : text
}

/** The JSON in a text that holds nothing else, with or without code fences around it. */
const jsonIn = (text: string): { readonly json: string; readonly value: unknown } | undefined => {
  const json = withoutFences(text)
  try {
    return { json, value: JSON.parse(json) }
  } catch {
    return undefined
  }
}

/** The same events with this text in the place of the first piece of text. */
const withText = (events: ReadonlyArray<CompletionEvent>, text: string): ReadonlyArray<CompletionEvent> => {
  const first = events.findIndex(({ type }) => type === "text")
  return events.flatMap((event, index): ReadonlyArray<CompletionEvent> => {
    if (event.type !== "text") return [event]
    return index === first ? [{ type: "text", text }] : []
  })
}

/** The message holds nothing of what the model or the client wrote. */
const nonconforming = (what: string): Failure =>
  new Failure({ reason: { _tag: "Nonconforming" }, message: `The model's answer ${what}.` })
