/** Answers with CSV. The line of names comes first, also where no row follows. */
import { Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"

import { type CsvCell, csvLine } from "../../domain/Csv.ts"

/** A column: its name, and its cell for a row. */
export type CsvColumns<Row> = { readonly [name: string]: (row: Row) => CsvCell }

/** True if the query or the header asks for CSV; the query decides if both are there. */
export const wantsCsv = (
  { format }: { readonly format?: "json" | "csv" },
  { headers }: HttpServerRequest.HttpServerRequest
): boolean => (format === undefined ? /\btext\/csv\b/i.test(headers["accept"] ?? "") : format === "csv")

const contentType = "text/csv; charset=utf-8"

/** Browsers save it under this name. */
const named = (name: string) => ({ "content-disposition": `attachment; filename="${name}.csv"` })

export const csvLines = <Row>(columns: CsvColumns<Row>, rows: ReadonlyArray<Row>): string => {
  const cells = Object.values(columns)
  return rows.map((row) => csvLine(cells.map((cellOf) => cellOf(row)))).join("")
}

/** All rows at once. */
export const csvReply = <Row>(name: string, columns: CsvColumns<Row>, rows: ReadonlyArray<Row>) =>
  HttpServerResponse.text(csvLine(Object.keys(columns)) + csvLines(columns, rows), {
    contentType,
    headers: named(name)
  })

/** Rows as they are read, of which one page is in memory at a time. */
export const csvStream = <Row, E>(
  name: string,
  columns: CsvColumns<Row>,
  pages: Stream.Stream<ReadonlyArray<Row>, E>
) =>
  HttpServerResponse.stream(
    Stream.make(csvLine(Object.keys(columns))).pipe(
      Stream.concat(Stream.map(pages, (rows) => csvLines(columns, rows))),
      Stream.encodeText
    ),
    { contentType, headers: named(name) }
  )
