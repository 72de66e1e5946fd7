/**
 * Typed looks into JSON that somebody else wrote. Nothing here throws and nothing is trusted: a value of the wrong type
 * reads as absent. Streams are read through these and not through Schema, because this runs once per chunk.
 */
import { Result } from "effect"

import { broken, type Failure } from "../../../domain/Failure.ts"

export type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const asObject = (value: unknown): Fields | undefined => (isFields(value) ? value : undefined)

/** The items of an array; none for anything else. */
export const asArray = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Those items of an array that are objects. */
export const asObjects = (value: unknown): ReadonlyArray<Fields> => asArray(value).filter(isFields)

/** A string with something in it. */
export const asText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

/** True for text without a word in it. */
export const isBlank = (text: string): boolean => text.trim() === ""

/** A finite number, also when it was written as a string. */
export const asNumber = (value: unknown): number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined
  if (typeof value !== "string" || value.trim() === "") return undefined
  const parsed = Number(value)
  return Number.isFinite(parsed) ? parsed : undefined
}

/** The first of `keys` that holds a non-empty text. */
export const firstText = (fields: Fields, keys: ReadonlyArray<string>): string | undefined => {
  for (const key of keys) {
    const text = asText(fields[key])
    if (text !== undefined) return text
  }
  return undefined
}

/** JSON as a value, or `undefined` when it does not parse. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A JSON object out of one frame of a stream. */
export const parsedFrame = (data: string): Result.Result<Fields, Failure> => {
  const fields = asObject(parsed(data))
  return fields === undefined
    ? Result.fail(broken("The provider sent a chunk that is not a JSON object."))
    : Result.succeed(fields)
}

/** True for text that is one JSON object, which is what the arguments of a tool call have to be. */
export const isJsonObject = (text: string): boolean =>
  text.trimEnd().endsWith("}") && asObject(parsed(text)) !== undefined

/** The arguments of a tool call as an object. What a model wrote brokenly is shown to it as it was. */
export const argumentsIn = (written: string): Fields =>
  written.trim() === "" ? {} : (asObject(parsed(written)) ?? { _raw: written })

/** Arguments go back as they came; only what no server could read is wrapped. */
export const readableArguments = (written: string): string => {
  if (written.trim() === "") return "{}"
  return isJsonObject(written) ? written : JSON.stringify({ _raw: written })
}
