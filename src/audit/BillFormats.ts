/**
 * The forms in which providers export their bills, as far as they say what a day and a model cost. Days are in UTC, and
 * amounts in dollars unless a format says otherwise. The page "Reconcile" of the documentation has the sources.
 */

import { dayOfMillis } from "./BillText.ts"

/** The bills that can be read. Every provider of the catalog can be compared with the neutral format. */
export const billSources = ["openai", "anthropic", "openrouter"] as const
export type BillSource = (typeof billSources)[number]

/** The columns of a CSV export, in lower case. */
export interface CsvFormat {
  readonly day: string
  /** What was paid for. It may be empty where an export was not grouped by it. */
  readonly name: string
  readonly amount: string
  readonly currency?: string
  /** A row without an amount is one of a day on which nothing was paid. */
  readonly mayLackAmount?: boolean
}

/** One row for each day and model, for providers that have no format here, or for bills that were put together. */
export const neutralFormat: CsvFormat = { day: "day", name: "model", amount: "cost_usd" }

export const csvFormats: { readonly [S in BillSource]: ReadonlyArray<CsvFormat> } = {
  openai: [
    {
      day: "start_time_iso",
      name: "line_item",
      amount: "amount_value",
      currency: "amount_currency",
      mayLackAmount: true
    }
  ],
  anthropic: [{ day: "usage_date_utc", name: "model", amount: "cost_usd" }],
  openrouter: [
    { day: "date", name: "slug", amount: "usage" },
    { day: "created_at", name: "model_permaslug", amount: "cost_total" }
  ]
}

/** A row of a bill as text, before it is checked. */
export interface RawLine {
  readonly day: string
  readonly name: string
  readonly amount: string
  /** In the unit of the format: 0 for dollars and 2 for cents. */
  readonly decimals?: number
  readonly currency?: string
}

type Fields = { readonly [name: string]: unknown }

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}
const listIn = (value: unknown): ReadonlyArray<Fields> => (Array.isArray(value) ? value.map(fieldsOf) : [])
/** Numbers are text as well: whoever parses the JSON leaves them as they are written. */
const textIn = (value: unknown): string => (typeof value === "string" ? value : "")

const openaiBuckets = (bucket: Fields): ReadonlyArray<RawLine> =>
  listIn(bucket["results"]).map((result) => {
    const amount = fieldsOf(result["amount"])
    return {
      day: secondsAsDay(textIn(bucket["start_time"])),
      name: textIn(result["line_item"]),
      amount: textIn(amount["value"]),
      currency: textIn(amount["currency"])
    }
  })

const secondsAsDay = (seconds: string): string => {
  const millis = /^\d{1,11}$/.test(seconds) ? Number(seconds) * 1_000 : Number.NaN
  return Number.isNaN(millis) ? seconds : dayOfMillis(millis)
}

const anthropicBuckets = (bucket: Fields): ReadonlyArray<RawLine> =>
  listIn(bucket["results"]).map((result) => ({
    day: textIn(bucket["starting_at"]),
    name: textIn(result["model"]) || textIn(result["description"]),
    amount: textIn(result["amount"]),
    decimals: 2,
    currency: textIn(result["currency"])
  }))

const openrouterActivity = (item: Fields): ReadonlyArray<RawLine> => [
  { day: textIn(item["date"]), name: textIn(item["model"]), amount: textIn(item["usage"]) }
]

/** The lines of one element of `data` in the answer of a provider's API for costs. */
export const linesInJson: { readonly [S in BillSource]: (item: Fields) => ReadonlyArray<RawLine> } = {
  openai: openaiBuckets,
  anthropic: anthropicBuckets,
  openrouter: openrouterActivity
}
