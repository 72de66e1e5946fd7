/** Answers as CSV for spreadsheets, beside JSON. */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** The `format` of a query. */
export const Format = Schema.Literals(["json", "csv"]).annotate({
  description: "`csv` answers with a table for spreadsheets, as does the header `accept: text/csv`."
})

/** A line of names and a line for each row, as RFC 4180 has it. */
export const CsvText = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))
