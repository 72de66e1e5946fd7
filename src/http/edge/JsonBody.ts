/**
 * Parses a JSON body and reports faults that a client can act on: where it is malformed, which key is repeated, that it
 * nests too deep. `JSON.parse` would silently keep the last of two equal keys, and depth could overflow the stack
 * later.
 */
import { Result } from "effect"

import type { JsonObject } from "../../domain/JsonObject.ts"

/** Deeper than any tool schema seen in practice, and far from the stack limit. */
export const maxDepth = 128

/** Limit on objects and arrays in one body: a million empty ones are short as text but take a gigabyte once parsed. */
export const maxContainers = 250_000

/** Why a text was refused. */
export interface BodyFault {
  /** For the client. It never quotes the text. */
  readonly message: string
}

/**
 * The parsed value, or the first fault, whose message begins with `subject`. Takes time linear in the text; the inside
 * of strings is skipped.
 */
export const parseJsonBody = (text: string, subject = "The request body"): Result.Result<unknown, BodyFault> => {
  const fault = (problem: string): BodyFault => ({ message: `${subject} ${problem}` })
  if (text.trim() === "") return Result.fail(fault("is empty; expected a JSON object"))
  // Checked before parsing, because a body of nothing but brackets would cost the parser a gigabyte.
  const found = structuralFault(text)
  return found === undefined
    ? Result.try({ try: () => JSON.parse(text) as unknown, catch: (cause) => fault(describe(cause)) })
    : Result.fail(fault(found))
}

/** The same for text that must be an object. */
export const parseJsonObject = (text: string, subject = "The request body"): Result.Result<JsonObject, BodyFault> =>
  Result.flatMap(parseJsonBody(text, subject), (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? // A value that is neither a primitive nor an array is an object.
        Result.succeed(value as JsonObject)
      : Result.fail({ message: `${subject} must be a JSON object` })
  )

/** V8 quotes the text around the error. A prompt must not appear in an error message, so only the position is kept. */
const describe = (cause: unknown): string => {
  const position = /position (\d+)/.exec(cause instanceof Error ? cause.message : "")?.[1]
  return `is not valid JSON${position === undefined ? "" : ` (at character ${position})`}`
}

const quote = 0x22
const backslash = 0x5c

/** Scans the brackets and keys. Text that is not JSON at all is left to the parser. */
const structuralFault = (text: string): string | undefined => {
  /** The keys seen so far in each open object; `undefined` stands for an open array. */
  const open: Array<Set<string> | undefined> = []
  let expectsKey = false
  let containers = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at)
        const keys = open.at(-1)
        if (expectsKey && keys !== undefined) {
          const key = unescaped(text.slice(at + 1, end))
          if (keys.has(key)) return `repeats the key ${quotedKey(key)} in one object`
          keys.add(key)
          expectsKey = false
        }
        at = end
        break
      }
      case 0x7b: // {
        open.push(new Set())
        containers++
        expectsKey = true
        break
      case 0x5b: // [
        open.push(undefined)
        containers++
        expectsKey = false
        break
      case 0x7d: // }
      case 0x5d: // ]
        open.pop()
        expectsKey = false
        break
      case 0x2c: // ,
        expectsKey = open.at(-1) !== undefined
        break
    }
    if (open.length > maxDepth) return `nests deeper than ${maxDepth} levels`
    if (containers > maxContainers) return `has more than ${maxContainers} objects and arrays`
  }
  return undefined
}

/** Index of the quote that closes the string opened at `start`, or the end of the text. */
const endOfString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1)
  for (; end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++
    if (escapes % 2 === 0) return end
  }
  return text.length
}

/** A key with its escapes resolved, because `"\u0061"` and `"a"` are the same key. */
const unescaped = (key: string): string =>
  key.includes("\\")
    ? Result.getOrElse(
        Result.try((): string => JSON.parse(`"${key}"`)),
        () => key
      )
    : key

const quotedKey = (key: string): string => JSON.stringify(key.length > 64 ? `${key.slice(0, 64)}…` : key)
