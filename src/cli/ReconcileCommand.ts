/** `tollgate reconcile`: the bill of a provider beside what the gateway counted for it. */
import { Console, Data, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"

import { billedModels } from "../audit/BilledModels.ts"
import { readBill, shown } from "../audit/BillFile.ts"
import { type BillSource, billSources } from "../audit/BillFormats.ts"
import { amountOf, utcDay } from "../audit/BillText.ts"
import { agrees, BillTotals, type ReconciliationReport, type Tolerance } from "../audit/Reconciliation.ts"
import { type Picodollars, picodollars, toUsd, zero } from "../domain/Money.ts"
import * as Connection from "./Connection.ts"
import { progress } from "./Progress.ts"
import { catalog, commandCatalog } from "./RouteCatalog.ts"
import { table } from "./Table.ts"

/** The bill differs from what the gateway counted, which has been printed. */
export class BillDiffers extends Data.TaggedError("BillDiffers") {}

/** A flag has a value that cannot be meant. */
class BadFlag extends Data.TaggedError("BadFlag")<{ readonly message: string }> {}

const provider = Flag.String("provider").pipe(
  Flag.withDescription("The provider in the catalog whose bill it is, such as openai.")
)

const file = Flag.String("file").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription(
    "Its export: of OpenAI, Anthropic or OpenRouter, as CSV or as JSON of their APIs, or CSV with day, model, cost_usd."
  )
)

const tolerance = Flag.String("tolerance").pipe(
  Flag.withMetavar("USD|PERCENT%"),
  Flag.withDescription("What a day and model may differ by: USD, a percentage, or both, such as 0.01,0.5%."),
  Flag.withDefault("0.01")
)

const day = (name: "from" | "to") =>
  Flag.String(name).pipe(
    Flag.withMetavar("DAY"),
    Flag.withDescription(`The ${name === "from" ? "first" : "last"} day, in UTC. Default: that of the bill.`),
    Flag.optional
  )

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON. Amounts are exact USD."),
  Flag.withDefault(false)
)

export const reconcileCommand = Command.make(
  "reconcile",
  { provider, file, tolerance, from: day("from"), to: day("to"), catalog, json },
  Effect.fn(function* (flags) {
    const within = yield* toleranceOf(flags.tolerance)
    const range = { ...(yield* dayFlag("from", flags.from)), ...(yield* dayFlag("to", flags.to)) }
    const data = yield* commandCatalog(flags.catalog)
    if (!data.providers.has(flags.provider))
      return yield* new BadFlag({
        message: `--provider: the catalog has no ${shown(flags.provider)}, but ${[...data.providers.keys()].join(", ")}`
      })
    const totals = new BillTotals(billedModels(data, flags.provider), range)
    const source = billSources.find((one): one is BillSource => one === flags.provider)
    yield* Effect.scoped(
      Effect.flatMap(progress("rows"), (advance) =>
        readBill({ path: flags.file, source }, (lines, rows) => {
          for (const line of lines) totals.add(line)
          return advance(rows)
        })
      )
    )
    const { days } = totals
    if (days === undefined) return yield* new BadFlag({ message: "The bill has no costs; give --from and --to" })
    const report = yield* totals.compareWith(flags.provider, days, within)
    yield* Console.log(flags.json ? reportJson(flags.provider, report) : reportText(report).join("\n"))
    if (!agrees(report)) return yield* new BillDiffers()
  })
).pipe(
  Command.withShortDescription("Compare the bill of a provider with what the gateway counted for it."),
  Command.withDescription(
    "Compare the bill of a provider with what the gateway counted for it, by day in UTC and by model. " +
      "Exits with 0 when they agree, 1 when something differs, 2 when the bill cannot be read."
  ),
  Command.provide(Connection.connectionLayer)
)

/** An amount, a percentage, or both. */
const toleranceOf = (text: string): Effect.Effect<Tolerance, BadFlag> => {
  let amount: Picodollars = zero
  let millionths = 0n
  for (const part of text.split(",")) {
    const isPercentage = part.trim().endsWith("%")
    const value = amountOf(isPercentage ? part.trim().slice(0, -1) : part)
    if (value === undefined || value < 0n)
      return Effect.fail(new BadFlag({ message: `--tolerance: ${shown(text)} is neither USD nor a percentage` }))
    if (isPercentage) millionths = value / 100_000_000n
    else amount = value
  }
  return Effect.succeed({ amount, millionths })
}

const dayFlag = <Name extends "from" | "to">(name: Name, value: Option.Option<string>) =>
  Effect.suspend(() => {
    if (Option.isNone(value)) return Effect.succeed({})
    const found = utcDay(value.value)
    return found === undefined
      ? new BadFlag({ message: `--${name}: ${shown(value.value)} is not a day such as 2026-03-15` })
      : Effect.succeed({ [name]: found })
  })

const reportText = (report: ReconciliationReport): ReadonlyArray<string> => {
  const { billed, compared, counted, differences, from, to, unknown } = report
  const rows = differences.map((one) => [
    one.day,
    one.model,
    toUsd(one.billed),
    toUsd(one.counted),
    toUsd(picodollars(one.billed - one.counted)),
    percentage(one.billed, one.counted)
  ])
  const items = unknown.map(({ billed: amount, lines, name }) => [shown(name), String(lines), toUsd(amount)])
  return [
    `${from} to ${to}, in UTC: ${compared} days and models compared`,
    ...(rows.length === 0 ? [] : table(["day", "model", "billed", "counted", "difference", ""], rows, [2, 3, 4, 5])),
    ...(items.length === 0 ? [] : ["", ...table(["not in the catalog", "lines", "billed"], items, [1, 2])]),
    ...(rows.length + items.length === 0 ? [] : [""]),
    `billed ${toUsd(billed)} USD, counted ${toUsd(counted)} USD; ` +
      `${rows.length} differences, ${items.length} unknown names`
  ]
}

/** How much more is billed than was counted, to a tenth of a per cent. */
const percentage = (billed: bigint, counted: bigint): string => {
  if (counted === 0n) return ""
  const thousandths = ((billed - counted) * 1_000n) / counted
  const size = thousandths < 0n ? -thousandths : thousandths
  return `${thousandths < 0n ? "-" : "+"}${size / 10n}.${size % 10n} %`
}

const reportJson = (provider: string, report: ReconciliationReport): string =>
  JSON.stringify(
    {
      provider,
      agrees: agrees(report),
      from: report.from,
      to: report.to,
      compared: report.compared,
      billed_usd: toUsd(report.billed),
      counted_usd: toUsd(report.counted),
      differences: report.differences.map((one) => ({
        day: one.day,
        model: one.model,
        billed_usd: toUsd(one.billed),
        counted_usd: toUsd(one.counted),
        difference_usd: toUsd(picodollars(one.billed - one.counted))
      })),
      unknown: report.unknown.map(({ billed, lines, name }) => ({ name, lines, billed_usd: toUsd(billed) }))
    },
    null,
    2
  )
