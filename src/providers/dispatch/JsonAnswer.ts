/**
 * The guarantee of `response_format`: an answer that is promised to be JSON is checked before anybody sees it or pays
 * for it. One that is not JSON, or does not have the shape of the schema, is a failure, and another target may answer.
 */
import { Result } from "effect"

import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ChatRequest, ResponseFormat } from "../../domain/Conversation.ts"
import { Failure } from "../../domain/Failure.ts"
import { violationOf } from "../../domain/SchemaCheck.ts"
import type { StreamReader } from "../protocols/Protocol.ts"
import { fenceFilter, withoutFences } from "./JsonFences.ts"

/**
 * The events of a plain answer with its text as bare JSON: code fences around it are gone. An answer that is not
 * finished, that calls tools or that refuses promises no JSON and stays as it is.
 */
export const conforming = (
  events: ReadonlyArray<CompletionEvent>,
  format: ResponseFormat
): Result.Result<ReadonlyArray<CompletionEvent>, Failure> => {
  if (format.type === "text" || !isWholeAnswer(events)) return Result.succeed(events)
  const text = textIn(events)
  return Result.map(guaranteed(text, format), (json) => (json === text ? events : withText(events, json)))
}

const textIn = (events: ReadonlyArray<CompletionEvent>): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("")

type PromisedFormat = Exclude<ResponseFormat, { readonly type: "text" }>

/** The keywords that every JSON mode with a schema enforces (the strict subset of OpenAI's documentation). */
const enforcedKeywords = new Set(
  (
    "type properties required additionalProperties items enum const anyOf $ref $defs definitions " +
    "title description default examples $schema $id"
  ).split(" ")
)

const subschemas = ["properties", "$defs", "definitions"]

/** Whether a schema asks for nothing but what the endpoint's own mode enforces. */
const isEnforced = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.every(isEnforced)
  if (typeof schema !== "object" || schema === null) return true
  return Object.entries(schema).every(([keyword, value]: [string, unknown]) => {
    if (!enforcedKeywords.has(keyword)) return false
    if (subschemas.includes(keyword)) return Object.values(value ?? {}).every(isEnforced)
    return !["items", "anyOf", "additionalProperties"].includes(keyword) || isEnforced(value)
  })
}

/** The JSON of a text, if it is what the format promises. */
const guaranteed = (text: string, format: PromisedFormat): Result.Result<string, Failure> => {
  const found = jsonIn(text)
  if (found === undefined) return Result.fail(nonconforming("is not JSON"))
  return format.type === "json_schema" && violationOf(found.value, format.schema) !== undefined
    ? Result.fail(nonconforming("does not conform to the schema"))
    : Result.succeed(found.json)
}

/**
 * The same guarantee for a stream. The client has seen the text before it can be checked, but it is checked before
 * anybody pays: a stream that does not conform ends as a broken one. The client has its text then and pays nothing, so
 * only the endpoint may be the reason: neither the client's own stop sequences, which may have cut the text, nor a
 * schema that asks for more than JSON modes enforce and that perhaps no answer fulfils.
 */
export const conformingReader = (
  reader: StreamReader,
  { responseFormat: format, stop }: Pick<ChatRequest, "responseFormat" | "stop">
): StreamReader => {
  if (format.type === "text") return reader
  const promised: PromisedFormat =
    format.type === "json_schema" && !isEnforced(format.schema) ? { type: "json_object" } : format
  const fences = fenceFilter()
  let text = ""
  const seen: Array<CompletionEvent> = []
  const asText = (piece: string): ReadonlyArray<CompletionEvent> => {
    text += piece
    return piece === "" ? [] : [{ type: "text", text: piece }]
  }
  const bare = (events: ReadonlyArray<CompletionEvent>): ReadonlyArray<CompletionEvent> =>
    events.flatMap((event) => {
      if (event.type === "text") return asText(fences.push(event.text))
      if (event.type === "tool" || event.type === "refusal" || event.type === "finish") seen.push(event)
      return event.type === "finish" ? [...asText(fences.flush()), event] : [event]
    })
  return {
    ended: reader.ended,
    step: (frame) => Result.map(reader.step(frame), bare),
    finish: () =>
      Result.flatMap(Result.map(reader.finish(), bare), (events) =>
        isWholeAnswer(seen) && stop.length === 0
          ? Result.map(guaranteed(text, promised), () => events)
          : Result.succeed(events)
      )
  }
}

/** False for an answer that has no text to check. */
const isWholeAnswer = (events: ReadonlyArray<CompletionEvent>): boolean =>
  events.some((event) => event.type === "finish" && event.reason === "stop") &&
  !events.some((event) => event.type === "tool" || (event.type === "refusal" && event.text !== ""))

/** The JSON in a text that holds nothing else, with or without code fences around it. */
const jsonIn = (text: string): { readonly json: string; readonly value: unknown } | undefined => {
  try {
    // An answer that is JSON as it stands is not touched.
    return { json: text, value: JSON.parse(text) }
  } catch {
    return fencedJsonIn(text)
  }
}

const fencedJsonIn = (text: string): ReturnType<typeof jsonIn> => {
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
