/** The keywords of JSON Schema that limit how large a value may be. */
/** Limits by keyword: what is measured, and whether a measure keeps the limit. */
export const schemaLimits: ReadonlyArray<
  readonly [
    keyword: string,
    measure: (value: unknown) => number | undefined,
    keeps: (measured: number, limit: number) => boolean
  ]
> = [
  ["minimum", (value) => asNumber(value), (measured, limit) => measured >= limit],
  ["maximum", (value) => asNumber(value), (measured, limit) => measured <= limit],
  ["exclusiveMinimum", (value) => asNumber(value), (measured, limit) => measured > limit],
  ["exclusiveMaximum", (value) => asNumber(value), (measured, limit) => measured < limit],
  ["multipleOf", (value) => asNumber(value), (measured, limit) => isMultiple(measured, limit)],
  ["minLength", (value) => charactersOf(value), (measured, limit) => measured >= limit],
  ["maxLength", (value) => charactersOf(value), (measured, limit) => measured <= limit],
  ["minItems", (value) => itemsOf(value), (measured, limit) => measured >= limit],
  ["maxItems", (value) => itemsOf(value), (measured, limit) => measured <= limit],
  ["minProperties", (value) => membersOf(value), (measured, limit) => measured >= limit],
  ["maxProperties", (value) => membersOf(value), (measured, limit) => measured <= limit]
]

const asNumber = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)
const charactersOf = (value: unknown): number | undefined =>
  typeof value === "string" ? Array.from(value).length : undefined
const itemsOf = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)
const membersOf = (value: unknown): number | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value).length : undefined

/** Decimals such as 0.3 are not exact in binary, so a quotient that is whole but for rounding counts as whole. */
const isMultiple = (value: number, factor: number): boolean =>
  factor <= 0 || Math.abs(value / factor - Math.round(value / factor)) < 1e-9
