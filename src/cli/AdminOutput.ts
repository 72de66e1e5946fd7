/**
 * How the commands of operators print what they are answered: as tables for people, or as the JSON of the API for
 * programs. What others have named is printed without control characters, which could rewrite a terminal.
 */
import { Console, Context, Effect, Option, type Schema } from "effect"
import { Flag } from "effect/cli"
import type { HttpClientError, HttpClientResponse } from "effect/http"

import { table } from "./Table.ts"

/** Whether to print JSON. */
export class Output extends Context.Service<Output, { readonly json: boolean }>()("tollgate/cli/Output") {}

/** What the client decoded, and the response with the JSON as it came. */
type Answered<A> = readonly [A, HttpClientResponse.HttpClientResponse]

type Row = { readonly [member: string]: Schema.Json }

/** An answer of the gateway, which is an object wherever it fits the API. */
const objectOf = ([, response]: Answered<unknown>): Effect.Effect<Row, HttpClientError.HttpClientError> =>
  Effect.map(response.json, (body) => body as Row)

/** Everything but letters, digits, marks, symbols, punctuation and plain spaces. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu

/** Text that is safe to show on a terminal, in one line. */
export const printable = (text: string): string =>
  text.replaceAll(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

const cellOf = (value: Schema.Json | undefined): string => {
  if (value === null || value === undefined) return "-"
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(cellOf).join(",")
  return printable(typeof value === "object" ? JSON.stringify(value) : String(value))
}

/** `object` says what an answer is, which its reader knows. */
const membersOf = (row: Row, prefix = ""): ReadonlyArray<readonly [string, string]> =>
  Object.entries(row).flatMap(([name, value]): ReadonlyArray<readonly [string, string]> => {
    if (name === "object") return []
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? membersOf(value as Row, `${prefix}${name}.`)
      : [[prefix + name, cellOf(value)]]
  })

/** The members of an object, one per line. */
const details = (row: Row): ReadonlyArray<string> => {
  const [first, ...rest] = membersOf(row)
  return first === undefined ? [] : table(first, rest, [])
}

/** Prints one object, or several under their names. */
export const printObject = Effect.fnUntraced(function* (row: Row) {
  const { json } = yield* Output
  yield* Console.log(json ? JSON.stringify(row, null, 2) : details(row).join("\n"))
})

/** Prints the object that is answered. */
export const printAnswer = <E, R>(answer: Effect.Effect<Answered<unknown>, E, R>) =>
  answer.pipe(Effect.flatMap(objectOf), Effect.flatMap(printObject))

/** Prints all rows that are answered, which are not pages. */
export const printRows = Effect.fnUntraced(function* <E, R>(
  shown: ListColumns,
  answer: Effect.Effect<Answered<unknown>, E, R>
) {
  const { json } = yield* Output
  const body = yield* objectOf(yield* answer)
  yield* Console.log(json ? JSON.stringify(body, null, 2) : textList(shown)(body).join("\n"))
})

/** The flags of every list. */
export const pageFlags = {
  limit: Flag.Int("limit").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("How many to read at a time, 1 to 200."),
    Flag.optional
  ),
  cursor: Flag.String("cursor").pipe(
    Flag.withMetavar("CURSOR"),
    Flag.withDescription("Go on behind the page that named this cursor."),
    Flag.optional
  ),
  all: Flag.Boolean("all").pipe(Flag.withDescription("Read all pages, not only one."), Flag.withDefault(false))
} as const

export interface PageFlags {
  readonly limit: Option.Option<number>
  readonly cursor: Option.Option<string>
  readonly all: boolean
}

interface PageRequest {
  readonly limit?: number
  readonly cursor?: string
}

/** What the query of a list needs for the first page. */
const firstPage = ({ all, cursor, limit }: PageFlags): PageRequest => {
  const size = Option.getOrElse(limit, () => (all ? 200 : undefined))
  return { ...(size !== undefined && { limit: size }), ...(Option.isSome(cursor) && { cursor: cursor.value }) }
}

/** A column that shows less than its members have, so that a row has room on a terminal. */
interface ShortColumn {
  readonly title: string
  /** The first of these members that a row has is shown. */
  readonly members: ReadonlyArray<string>
  /** The minute or the day of a time, in UTC, or the end of an id, by which ids differ. */
  readonly shows: "minute" | "day" | "end"
}

export interface ListColumns {
  /** The members that are shown, such as `id` and `actor.name`. */
  readonly columns: ReadonlyArray<string | ShortColumn>
  /** Those of them that are numbers. */
  readonly numbers?: ReadonlyArray<string>
}

/** Prints the list that `read` answers: one page of it, or with `--all` every page as it comes. */
export const printList = Effect.fnUntraced(function* <E, R>(
  flags: PageFlags,
  shown: ListColumns,
  read: (page: PageRequest) => Effect.Effect<Answered<unknown>, E, R>
) {
  const { json } = yield* Output
  const writer = json ? jsonList(flags.all) : textList(shown)
  let page: PageRequest | undefined = firstPage(flags)
  while (page !== undefined) {
    const body: Row = yield* objectOf(yield* read(page))
    const next = body["next_cursor"] as string | null
    for (const line of writer(body)) yield* Console.log(line)
    if (next !== null && !flags.all && !json) yield* Console.error(`There are more: --all, or --cursor ${next}`)
    page = next !== null && flags.all ? { ...page, cursor: next } : undefined
  }
})

/** Makes the lines of one page after another. */
type ListWriter = (page: Row) => ReadonlyArray<string>

/** The rows of a page of the API. */
const rowsOf = (page: Row) => page["data"] as ReadonlyArray<Row>

/** A page as it came, or all pages as if they were one, of which only one is in memory at a time. */
const jsonList = (all: boolean): ListWriter => {
  if (!all) return (page) => [JSON.stringify(page, null, 2)]
  let isFirst = true
  return (page) => {
    const lines = rowsOf(page).map((row, index) => `${isFirst && index === 0 ? "" : ","}${JSON.stringify(row)}`)
    const opening = isFirst ? ['{"object":"list","data":['] : []
    isFirst = false
    return [...opening, ...lines, ...(page["next_cursor"] === null ? ['],"next_cursor":null}'] : [])]
  }
}

/** One table over all pages. Its columns are at least as wide as on the pages before. */
export const textList = ({ columns, numbers = [] }: ListColumns): ListWriter => {
  const titles = columns.map((column) => (typeof column === "string" ? column : column.title))
  const right = numbers.map((column) => titles.indexOf(column))
  let head = titles
  let isFirst = true
  return (page) => {
    const rows = rowsOf(page).map((row) => columns.map((column) => listCell(row, column)))
    const lines = table(head, rows, right)
    head = head.map((name, column) => name.padEnd(Math.max(...rows.map((row) => row[column]?.length ?? 0))))
    const printed = isFirst ? lines : lines.slice(1)
    isFirst = false
    return printed
  }
}

/** How much of an id is shown at least: the end of a UUID, which is random. */
const endLength = 12

const listCell = (row: Row, column: string | ShortColumn): string => {
  if (typeof column === "string") return cellOf(memberAt(row, column))
  const value = column.members.map((member) => memberAt(row, member)).find((each) => typeof each === "string")
  if (typeof value !== "string") return cellOf(undefined)
  switch (column.shows) {
    case "minute":
      return printable(value.slice(0, "2026-01-31T10:20".length).replace("T", " "))
    case "day":
      return printable(value.slice(0, "2026-01-31".length))
    case "end":
      return printable(value.length > endLength ? `…${value.slice(-endLength)}` : value)
  }
}

/** The member at a path such as `actor.name`. */
const memberAt = (row: Row, path: string): Schema.Json | undefined =>
  path
    .split(".")
    .reduce<Schema.Json | undefined>(
      (value, name) => (typeof value === "object" && value !== null ? (value as Row)[name] : undefined),
      row
    )
