/**
 * The guarantee of `response_format`: an answer that is promised to be JSON is checked before anybody sees it or pays
 * for it. One that is not JSON, or does not have the shape of the schema, is a failure, and another target may answer.
 */
import { Result } from "effect"

import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ResponseFormat } from "../../domain/Conversation.ts"
import { Failure } from "../../domain/Failure.ts"
import { violationOf } from "../../domain/SchemaCheck.ts"

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
  events.some((event) => event.type === "finish" && event.reason === "stop") &&
  !events.some((event) => event.type === "tool" || (event.type === "refusal" && event.text !== ""))

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
