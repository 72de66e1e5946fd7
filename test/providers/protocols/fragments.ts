/** Text in pieces, and JSON with values that no provider should send, for the properties of the protocols. */
import { Schema } from "effect"

import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import type { Protocol, WireCall } from "../../../src/providers/protocols/Protocol.ts"

/** Sizes of the pieces a text arrives in. */
export const Sizes = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })))

/** The text in pieces of these sizes, which repeat. */
export const pieces = (text: string, sizes: ReadonlyArray<number>): ReadonlyArray<string> => {
  const cut: Array<string> = []
  for (let start = 0, count = 0; start < text.length; count++) {
    const size = sizes[count % sizes.length] ?? 1
    cut.push(text.slice(start, start + size))
    start += size
  }
  return cut
}

/** `__proto__` is a key like others in JSON, but not in the objects that a test compares. */
const isComparable = (key: string): boolean => key !== "__proto__"

/**
 * Node 24.21 misreads a key that begins with an escape when it has parsed a key with a backslash in the same place
 * before: after the JSON text `{"\\":1}` it reads `{"\n":1}` as if it were the former.
 */
const isReadable = (key: string): boolean => !key.includes("\\")

/** The arguments of a tool call. */
export const ToolArguments = Schema.Record(
  Schema.String.check(Schema.makeFilter((key) => isComparable(key) && isReadable(key))),
  Schema.String
)

const wrongValues = [
  null,
  0,
  -1,
  "",
  "x",
  "12",
  true,
  [],
  [null],
  {},
  { a: null },
  [[{ index: "1" }]],
  Number.MAX_VALUE
]

const Choice = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

/**
 * Where something is wrong, and which value is there instead; numbers are taken modulo what there is to choose from.
 */
export const Damage = Schema.Struct({ place: Choice, value: Choice, frame: Choice })
export type Damage = typeof Damage.Type

/** `json` with the value at the chosen place replaced. */
export const damaged = (json: unknown, { place, value }: Damage): unknown =>
  replaced(json, place, wrongValues[value % wrongValues.length])

const replaced = (json: unknown, place: number, value: unknown): unknown => {
  const keys = typeof json === "object" && json !== null ? Object.keys(json) : []
  const key = keys[place % (keys.length + 1)]
  if (typeof json !== "object" || json === null || key === undefined) return value
  const placeInside = Math.floor(place / (keys.length + 1))
  const entries = Object.entries(json).map(
    ([name, member]) => [name, name === key ? replaced(member, placeInside, value) : member] as const
  )
  return Array.isArray(json) ? entries.map(([, member]) => member) : Object.fromEntries(entries)
}

interface Responses {
  readonly plain: JsonObject
  /** The frames of a stream: the name of the event, and its data. */
  readonly frames: ReadonlyArray<readonly [event: string, data: unknown]>
  readonly error: { readonly status: number; readonly body: JsonObject }
}

/** Reads a plain response, a stream and an error, each with one value that is wrong. Nothing may throw. */
export const readDamaged = (protocol: Protocol, call: WireCall, responses: Responses, damage: Damage): void => {
  const { error, frames, plain } = responses
  protocol.decode(damaged(plain, damage), call)
  const reader = protocol.reader(call)
  for (const [index, [event, data]] of frames.entries()) {
    const read = index === damage.frame % frames.length ? damaged(data, damage) : data
    reader.step({ event, data: JSON.stringify(read) })
  }
  reader.finish()
  protocol.failure({ status: error.status, headers: {}, body: JSON.stringify(damaged(error.body, damage)) })
}
