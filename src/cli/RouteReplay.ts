/**
 * `tollgate route replay`: routes the newest requests of the request log again, by the features that were logged, with
 * today's catalog and prices or with those of a file. Nothing is sent to a provider and nothing is written.
 */
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"

import { Catalog } from "../catalog/Catalog.ts"
import { type Picodollars, toUsd } from "../domain/Money.ts"
import { recentRequests, storedRequests } from "../receipts/RecentRequests.ts"
import { Router } from "../routing/Router.ts"
import * as Connection from "./Connection.ts"
import { type Advance, progress } from "./Progress.ts"
import { ReplayTotals } from "./ReplayTotals.ts"
import * as RouteCatalog from "./RouteCatalog.ts"
import { table } from "./Table.ts"

const requestsMax = 1_000_000

const last = Flag.Int("last").pipe(
  Flag.withMetavar("N"),
  Flag.withDescription(
    "How many requests to read from the log, newest first. Requests that were not routed count too."
  ),
  Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: requestsMax }))),
  Flag.withDefault(10_000)
)

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON. Amounts are in USD, as exact decimal strings."),
  Flag.withDefault(false)
)

export const replayCommand = Command.make(
  "replay",
  { last, json, catalog: RouteCatalog.catalog, everyModel: RouteCatalog.everyModel },
  Effect.fn(function* ({ json, last }) {
    const advance = progress("requests", storedRequests(last))
    const totals = yield* Effect.scoped(Effect.flatMap(advance, (advance) => replayed(last, advance)))
    const { version } = yield* Catalog
    yield* Console.log(
      json ? JSON.stringify(replayJson(totals, version), null, 2) : replayText(totals, version).join("\n")
    )
  })
).pipe(
  Command.withShortDescription("Route the last requests of the log again, by the features that were logged."),
  Command.withDescription(
    "Route the last requests of the log again by the features that were logged: which models would answer, what they " +
      "would cost, and which sessions would be on another model. The models that count as served are those that a " +
      "gateway with this environment would serve."
  ),
  Command.provide((options) =>
    Layer.provideMerge(Router.layer, RouteCatalog.routeCatalogLayer(options)).pipe(
      Layer.merge(Connection.connectionLayer)
    )
  )
)

/** Routes the last `count` requests of the log again. `advance` counts them as it goes. */
export const replayed = Effect.fn("RouteReplay.replayed")(function* (
  count: number,
  advance: Advance = () => Effect.void
) {
  const totals = new ReplayTotals(yield* Catalog, yield* Router)
  yield* Stream.runForEachArray(recentRequests(count), (receipts) =>
    Effect.suspend(() => {
      receipts.forEach((receipt) => totals.add(receipt))
      return advance(receipts.length)
    })
  )
  return totals
})

export const replayJson = (totals: ReplayTotals, catalogVersion: string) => ({
  catalog_version: catalogVersion,
  requests: totals.requests,
  from: totals.span?.from ?? null,
  to: totals.span?.to ?? null,
  skipped: {
    not_routed: totals.notRouted,
    without_features: totals.withoutFeatures,
    unreadable: totals.unreadable
  },
  replayed: totals.replayed,
  changed: totals.changed,
  unanswerable: totals.unanswerable,
  models: modelRows(totals).map(([model, counts]) => ({ model, ...counts })),
  expected_usd: comparisonJson(totals.expected),
  charged_usd: {
    same_model: comparisonJson(totals.charged),
    other_model: { requests: totals.otherModel.requests, before: toUsd(totals.otherModel.charged) }
  },
  sessions: { seen: totals.sessions, switched: totals.switched }
})

const comparisonJson = ({ after, before, requests }: ReplayTotals["expected"]) => ({
  requests,
  before: toUsd(before),
  after: toUsd(after)
})

/** By requests now, then by requests before, then by id. */
const modelRows = ({ models }: ReplayTotals) =>
  [...models].sort(([a, x], [b, y]) => y.after - x.after || y.before - x.before || (a < b ? -1 : 1))

export const replayText = (totals: ReplayTotals, catalogVersion: string): ReadonlyArray<string> => {
  const { charged, expected, otherModel } = totals
  const span = totals.span === undefined ? "" : `, ${totals.span.from} to ${totals.span.to}`
  return [
    `${totals.requests} requests${span}; catalog ${catalogVersion}`,
    `${totals.replayed} routed again; skipped: ${totals.notRouted} not routed, ` +
      `${totals.withoutFeatures} without features, ${totals.unreadable} unreadable`,
    "",
    ...table(
      ["model", "before", "", "after", ""],
      modelRows(totals).map(([model, { after, before }]) => [
        model,
        String(before),
        share(before, totals.replayed),
        String(after),
        share(after, totals.replayed)
      ]),
      [1, 2, 3, 4]
    ),
    "",
    `Another model: ${totals.changed} requests (${share(totals.changed, totals.replayed)}), ` +
      `of which ${totals.unanswerable} none could answer`,
    `Sessions: ${totals.switched} of ${totals.sessions} on another model`,
    `Expected cost: ${changeText(expected)} (${expected.requests} requests)`,
    `Charged, same model: ${changeText(charged)} (${charged.requests} requests, the same tokens)`,
    `Charged, other model: ${toUsd(otherModel.charged)} USD (${otherModel.requests} requests, not priced again)`
  ]
}

const share = (part: number, whole: number): string => (whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)}%`)

const changeText = ({ after, before }: { readonly before: Picodollars; readonly after: Picodollars }): string => {
  const change = before === 0n ? "" : ` ${signed((100 * Number(after - before)) / Number(before))}%`
  return `${toUsd(before)} USD before, ${toUsd(after)} now${change}`
}

const signed = (percent: number): string => `${percent < 0 ? "" : "+"}${percent.toFixed(1)}`
