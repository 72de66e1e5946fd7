/**
 * Compares what a provider bills with what the gateway counted for it, by day in UTC and by model. Amounts are exact,
 * and nothing of either side is left out: a name of the bill that means no model of the catalog is listed by itself.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { type Picodollars, picodollars, zero } from "../domain/Money.ts"
import type { ModelOfName } from "./BilledModels.ts"
import type { BillLine } from "./BillFile.ts"

/** How much a day and model may differ. What is within one of the two is no difference. */
export interface Tolerance {
  readonly amount: Picodollars
  /** Of the larger amount, in millionths. */
  readonly millionths: bigint
}

/** A day and model for which the bill and the gateway do not agree. */
export interface BillDifference {
  readonly day: string
  readonly model: string
  readonly billed: Picodollars
  readonly counted: Picodollars
}

/** Lines of the bill that are for no model of the catalog at this provider. */
export interface UnknownItem {
  readonly name: string
  readonly lines: number
  readonly billed: Picodollars
}

/** The first and the last day that are compared, both included. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

export interface ReconciliationReport extends DayRange {
  /** Pairs of day and model that were compared. */
  readonly compared: number
  readonly differences: ReadonlyArray<BillDifference>
  readonly unknown: ReadonlyArray<UnknownItem>
  /** All that is billed in these days, also for what is unknown. */
  readonly billed: Picodollars
  readonly counted: Picodollars
}

/** The bill agrees with the gateway: no day and model differs, and nothing unknown was paid for. */
export const agrees = ({ differences, unknown }: ReconciliationReport): boolean =>
  differences.length === 0 && unknown.every(({ billed }) => billed === zero)

interface CostRow {
  readonly day: string
  readonly model: string | null
  readonly cost: string
}

/**
 * What the gateway counted as costs of a provider, by day and model. Earlier versions charged exactly these.
 *
 * A charge whose gateway was killed before it stored the receipt is in no usage, also where a repeat of its request has
 * a receipt. It is counted from the journal, for days whose receipts are kept: of others it is not known what was
 * counted.
 */
const countedCosts = (
  provider: string,
  { from, to }: DayRange
): Effect.Effect<ReadonlyArray<CostRow>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<CostRow>`
      SELECT to_char(quarter AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model,
        sum(coalesce(provider_cost, cost))::text AS cost
      FROM usage_quarter
      WHERE provider = ${provider}
        AND quarter >= ${from}::date::timestamp AT TIME ZONE 'UTC'
        AND quarter < (${to}::date + 1)::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2
      UNION ALL
      SELECT to_char(made AT TIME ZONE 'UTC', 'YYYY-MM-DD'), facts->'served'->>'model',
        sum(coalesce((facts->>'providerCost')::numeric,
          -amount + coalesce((facts->>'uncollected')::numeric, 0)))::text
      FROM credit_entry AS charge CROSS JOIN LATERAL (SELECT request_time(charge.id) AS made) AS time
      WHERE kind = 'charge' AND split_part(facts->'served'->>'endpoint', '/', 1) = ${provider}
        AND made >= ${from}::date::timestamp AT TIME ZONE 'UTC'
        AND made < (${to}::date + 1)::timestamp AT TIME ZONE 'UTC'
        AND to_regclass('logged_request_' || to_char(made AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL
        AND NOT EXISTS (
          SELECT FROM logged_request AS receipt
          WHERE receipt.at = made AND receipt.id = charge.id AND receipt.organization_id = charge.organization_id
            AND receipt.input_tokens IS NOT NULL
        )
      GROUP BY 1, 2`
  )

/** Sums the lines of a bill as they are read. It takes the memory of its days and models, however long the bill is. */
export class BillTotals {
  private readonly models: ModelOfName
  private readonly range: Partial<DayRange>
  private readonly billed = new Map<string, Picodollars>()
  private readonly unknown = new Map<string, { lines: number; billed: Picodollars }>()
  private total = zero
  private first: string | undefined = undefined
  private last: string | undefined = undefined

  /** Lines of days outside of `range` are not counted. Without it, the days are those of the bill. */
  constructor(models: ModelOfName, range: Partial<DayRange>) {
    this.models = models
    this.range = range
    this.first = range.from
    this.last = range.to
  }

  add({ amount, day, name }: BillLine): void {
    const { from = day, to = day } = this.range
    if (day < from || day > to) return
    if (this.first === undefined || day < this.first) this.first = day
    if (this.last === undefined || day > this.last) this.last = day
    this.total = picodollars(this.total + amount)
    const model = this.models(name)
    if (model !== undefined) return increase(this.billed, `${day} ${model}`, amount)
    const item = this.unknown.get(name) ?? { lines: 0, billed: zero }
    this.unknown.set(name, { lines: item.lines + 1, billed: picodollars(item.billed + amount) })
  }

  /** `undefined` if there was no line and no range is given. */
  get days(): DayRange | undefined {
    return this.first === undefined || this.last === undefined ? undefined : { from: this.first, to: this.last }
  }

  readonly compareWith = Effect.fn("BillTotals.compareWith")(
    { self: this },
    function* (provider: string, days: DayRange, tolerance: Tolerance) {
      const counted = new Map<string, Picodollars>()
      for (const { cost, day, model } of yield* countedCosts(provider, days))
        increase(counted, `${day} ${model ?? "no model"}`, picodollars(BigInt(cost)))
      const keys = [...new Set([...this.billed.keys(), ...counted.keys()])].sort()
      const compared = keys.map((key): BillDifference => {
        const [day = "", model = ""] = [key.slice(0, 10), key.slice(11)]
        return { day, model, billed: this.billed.get(key) ?? zero, counted: counted.get(key) ?? zero }
      })
      return {
        ...days,
        compared: compared.length,
        differences: compared.filter((one) => !isWithin(one, tolerance)),
        unknown: [...this.unknown].map(([name, item]) => ({ name, ...item })).sort(byAmount),
        billed: this.total,
        counted: picodollars([...counted.values()].reduce((sum, amount) => sum + amount, 0n))
      } satisfies ReconciliationReport
    }
  )
}

const increase = (sums: Map<string, Picodollars>, key: string, amount: Picodollars): void => {
  sums.set(key, picodollars((sums.get(key) ?? zero) + amount))
}

const byAmount = (a: UnknownItem, b: UnknownItem): number =>
  a.billed === b.billed ? (a.name < b.name ? -1 : 1) : a.billed > b.billed ? -1 : 1

const magnitude = (amount: bigint): bigint => (amount < 0n ? -amount : amount)

const isWithin = ({ billed, counted }: BillDifference, tolerance: Tolerance): boolean => {
  const difference = magnitude(billed - counted)
  const larger = magnitude(billed) > magnitude(counted) ? magnitude(billed) : magnitude(counted)
  return difference <= tolerance.amount || difference * 1_000_000n <= larger * tolerance.millionths
}
