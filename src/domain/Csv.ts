/**
 * Tables as CSV, as RFC 4180 has it. The rule: no cell is a formula. A spreadsheet computes what starts like one, and
 * labels come from clients; so text that starts so gets an apostrophe in front. Numbers stay numbers.
 */

/** What a cell holds; `null` is an empty one. */
export type CsvCell = string | number | boolean | null

/** What spreadsheets may take for the start of a formula, with the full-width forms that some of them accept. */
const formulaStart = /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/

const number = /^-?\d+(\.\d+)?$/

const harmless = (text: string): string => (formulaStart.test(text) && !number.test(text) ? `'${text}` : text)

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** One line, with its end. */
export const csvLine = (cells: ReadonlyArray<CsvCell>): string =>
  `${cells.map((cell) => (cell === null ? "" : quoted(harmless(String(cell))))).join(",")}\r\n`
