/**
 * Reads the export of a bill: as CSV, row by row, or as the JSON of a provider's API for costs. The rule: a row that
 * cannot be read ends it with an error that names the row and the column; nothing is skipped or guessed.
 */
import { Data, Effect, FileSystem, type PlatformError, Stream } from "effect"
import { Csv } from "effect/encoding"

import type { Picodollars } from "../domain/Money.ts"
import { type BillSource, type CsvFormat, csvFormats, linesInJson, neutralFormat, type RawLine } from "./BillFormats.ts"
import { amountOf, utcDay } from "./BillText.ts"

/** The file cannot be read as a bill. `message` says where and why. */
export class BadBill extends Data.TaggedError("BadBill")<{ readonly message: string }> {}

/** What one row of a bill says. */
export interface BillLine {
  /** In UTC. */
  readonly day: string
  /** What was paid for, as the bill names it. */
  readonly name: string
  readonly amount: Picodollars
}

/** Takes the lines of some rows, and how many rows they were. */
export type OnLines = (lines: ReadonlyArray<BillLine>, rows: number) => Effect.Effect<void>

interface BillFile {
  readonly path: string
  /** `undefined` for a provider whose exports are not known, and which so needs the neutral format. */
  readonly source: BillSource | undefined
}

/** JSON is read whole. A month of it has a few megabytes. */
const maxJsonBytes = 64 * 1024 * 1024
const headBytes = 64 * 1024

export const readBill = Effect.fn("BillFile.readBill")(function* (file: BillFile, onLines: OnLines) {
  const files = yield* FileSystem.FileSystem
  const head = yield* headOf(files, file.path)
  if (head.includes("\0")) return yield* bad("it is not UTF-8 text; save it as CSV with UTF-8")
  return yield* /^\s*[[{]/.test(head)
    ? readJson(files, file, onLines)
    : readCsv(files.stream(file.path), { source: file.source, delimiter: delimiterOf(head) }, onLines)
})

const bad = (message: string): BadBill => new BadBill({ message: `The bill cannot be read: ${message}` })

const headOf = (files: FileSystem.FileSystem, path: string) =>
  Effect.map(
    Stream.runFold(
      files.stream(path, { bytesToRead: headBytes }),
      () => "",
      (text, bytes) => text + new TextDecoder().decode(bytes)
    ),
    (text) => text.replace(/^\uFEFF/, "")
  )

/** European spreadsheets write semicolons, and some exports tabs. Names of columns contain none of them. */
const delimiterOf = (head: string): string => {
  const [names = ""] = head.split(/[\r\n]/, 1)
  return [",", ";", "\t"].reduce((best, one) => (names.split(one).length > names.split(best).length ? one : best))
}

interface CsvReading {
  readonly source: BillSource | undefined
  readonly delimiter: string
}

const readCsv = (
  bytes: Stream.Stream<Uint8Array, PlatformError.PlatformError>,
  { delimiter, source }: CsvReading,
  onLines: OnLines
) => {
  let line = 1
  let columns: Columns | undefined
  const readRow = (row: Csv.Row): BillLine | undefined => {
    const at = line
    line += 1 + row.reduce((breaks, cell) => breaks + cell.split(/\r\n|\r|\n/).length - 1, 0)
    if (row.length === 1 && row[0]?.trim() === "") return undefined
    if (columns !== undefined) return lineIn(row, columns, at)
    columns = columnsOf(row, source)
    return undefined
  }
  return bytes.pipe(
    Stream.pipeThroughChannel(Csv.decode({ delimiter })),
    Stream.mapError((error) =>
      error._tag === "CsvError" ? bad(`line ${error.line}: ${error.message}`) : bad(error.message)
    ),
    Stream.runForEachArray((rows) =>
      Effect.flatMap(
        Effect.try({
          try: () => rows.flatMap((row) => readRow(row) ?? []),
          catch: (error) => (error instanceof BadBill ? error : bad(String(error)))
        }),
        (lines) => onLines(lines, rows.length)
      )
    ),
    Effect.andThen(Effect.suspend(() => (columns === undefined ? bad("it is empty") : Effect.void)))
  )
}

/** Where the columns of a format are in a file. */
interface Columns {
  readonly format: CsvFormat
  readonly names: ReadonlyArray<string>
}

const columnsOf = (row: Csv.Row, source: BillSource | undefined): Columns => {
  const names = row.map((name) => name.trim().toLowerCase())
  const formats = [...(source === undefined ? [] : csvFormats[source]), neutralFormat]
  const needed = (format: CsvFormat) => [format.day, format.name, format.amount]
  const format = formats.find((one) => needed(one).every((name) => names.includes(name)))
  if (format === undefined) {
    const known = formats.map((one) => needed(one).join(", ")).join("; or ")
    throw bad(`line 1: it needs the columns ${known}. It has ${names.map(shown).join(", ")}`)
  }
  const twice = needed(format).find((name) => names.indexOf(name) !== names.lastIndexOf(name))
  if (twice !== undefined) throw bad(`line 1: the column ${twice} is there twice`)
  return { format, names }
}

const lineIn = (row: Csv.Row, { format, names }: Columns, at: number): BillLine | undefined => {
  if (row.length !== names.length) throw bad(`line ${at}: it has ${row.length} cells, and the heading ${names.length}`)
  const cell = (name: string): string => row[names.indexOf(name)] ?? ""
  const { currency, mayLackAmount = false } = format
  if (mayLackAmount && cell(format.amount).trim() === "") return undefined
  const raw = {
    day: cell(format.day),
    name: cell(format.name),
    amount: cell(format.amount),
    ...(currency !== undefined && names.includes(currency) && { currency: cell(currency) })
  }
  return checked(raw, format, `line ${at}`)
}

/** The names of the columns or members, for errors. */
type Named = Pick<CsvFormat, "day" | "amount" | "currency">

const checked = (raw: RawLine, named: Named, where: string): BillLine => {
  const day = utcDay(raw.day)
  if (day === undefined) throw bad(`${where}, ${named.day}: ${shown(raw.day)} is not a day such as 2026-03-15`)
  const amount = amountOf(raw.amount, raw.decimals)
  if (amount === undefined) {
    const hint = raw.amount.includes(",") ? "; decimals have a point" : ""
    throw bad(`${where}, ${named.amount}: ${shown(raw.amount)} is not a decimal number${hint}`)
  }
  const { currency = "usd" } = raw
  if (currency.trim().toLowerCase() !== "usd")
    throw bad(`${where}, ${named.currency ?? "currency"}: ${shown(currency)} is not usd`)
  return { day, name: raw.name.trim(), amount }
}

const readJson = Effect.fnUntraced(function* (files: FileSystem.FileSystem, file: BillFile, onLines: OnLines) {
  const { path, source } = file
  if (source === undefined) return yield* bad("JSON is read of OpenAI, Anthropic and OpenRouter; write it as CSV")
  if ((yield* files.stat(path)).size > maxJsonBytes) return yield* bad("it is larger than 64 MiB; export it as CSV")
  const text = yield* files.readFileString(path)
  const lines = yield* Effect.try({
    try: () => linesOfPages(parseExactly(text.replace(/^\uFEFF/, "")), source),
    catch: (error) => (error instanceof BadBill ? error : bad("it is neither JSON nor CSV"))
  })
  yield* onLines(lines, lines.length)
})

/** Parses JSON with its numbers as the text that they are written as. */
const parseExactly = (text: string): unknown =>
  JSON.parse(text, (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" ? (context?.source ?? String(value)) : value
  )

const linesOfPages = (json: unknown, source: BillSource): ReadonlyArray<BillLine> => {
  const pages: ReadonlyArray<unknown> = Array.isArray(json) ? json : [json]
  const last = pages.at(-1)
  if (typeof last === "object" && last !== null && Reflect.get(last, "has_more") === true)
    throw bad("its last page has has_more: true; put all pages into one array")
  return pages.flatMap((page, index) => {
    const data: unknown = typeof page === "object" && page !== null ? Reflect.get(page, "data") : undefined
    if (!Array.isArray(data)) throw bad(`page ${index + 1} has no list data`)
    return data.flatMap((item: unknown, position) =>
      linesInJson[source](typeof item === "object" && item !== null ? { ...item } : {}).map((raw) =>
        checked(raw, { day: "day", amount: "amount" }, `page ${index + 1}, data[${position}]`)
      )
    )
  })
}

/** Text of a file that may be printed: without what could steer a terminal, and not too long. */
export const shown = (text: string): string => `"${text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "").slice(0, 80)}"`
