/**
 * Typed access to JSON that somebody else wrote. Nothing here throws and nothing is trusted: a value of the wrong type
 * reads as absent. Streams are read through these functions and not through Schema, because they run once per chunk.
 */
import { Result } from "effect"

import { broken, type Failure } from "../../../domain/Failure.ts"

/** The members of a JSON object. */
export type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** An object that is not an array. */
export const asObject = (value: unknown): Fields | undefined => (isFields(value) ? value : undefined)

/** The items of an array, and no items for any other value. */
export const asArray = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The items of an array that are objects. */
export const asObjects = (value: unknown): ReadonlyArray<Fields> => asArray(value).filter(isFields)

/** A string that is not empty. */
export const asText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

/** True for text that is empty or only white space. */
export const isBlank = (text: string): boolean => text.trim() === ""

/** A finite number, even if it was written as a string. */
export const asNumber = (value: unknown): number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined
  if (typeof value !== "string" || isBlank(value)) return undefined
  const parsed = Number(value)
  return Number.isFinite(parsed) ? parsed : undefined
}

/** The first text that is not empty among the members named by `keys`. */
export const firstText = (fields: Fields, keys: ReadonlyArray<string>): string | undefined => {
  for (const key of keys) {
    const text = asText(fields[key])
    if (text !== undefined) return text
  }
  return undefined
}

/** The value of a JSON text, or `undefined` if it does not parse. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The JSON object in one frame of a stream. */
export const parsedFrame = (data: string): Result.Result<Fields, Failure> => {
  const fields = asObject(parsed(data))
  return fields === undefined
    ? Result.fail(broken("The provider sent a chunk that is not a JSON object."))
    : Result.succeed(fields)
}

/** True for the text of one JSON object, which the arguments of a tool call have to be. */
export const isJsonObject = (text: string): boolean =>
  text.trimEnd().endsWith("}") && asObject(parsed(text)) !== undefined

/** The arguments of a tool call as an object. Text that is not one goes back to the model under `_raw`. */
export const argumentsIn = (text: string): Fields => (isBlank(text) ? {} : (asObject(parsed(text)) ?? { _raw: text }))

/** The arguments of a tool call as text: byte for byte as the model wrote them, unless no server could parse that. */
export const readableArguments = (text: string): string => {
  if (isBlank(text)) return "{}"
  return isJsonObject(text) ? text : JSON.stringify({ _raw: text })
}
