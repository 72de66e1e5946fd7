/**
 * `tollgate route replay`: the newest requests of the log routed again, by what was logged of them, with the catalog
 * and the prices of today or of a file. Nothing is sent and nothing is written.
 */
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"

import { Catalog } from "../catalog/Catalog.ts"
import { type Picodollars, toUsd } from "../domain/Money.ts"
import { recentRequests } from "../receipts/RecentRequests.ts"
import { Router } from "../routing/Router.ts"
import * as Connection from "./Connection.ts"
import * as RouteCatalog from "./RouteCatalog.ts"
import { RouteTally } from "./RouteTally.ts"
import { table } from "./Table.ts"

const requestsMax = 1_000_000

const last = Flag.Int("last").pipe(
  Flag.withMetavar("N"),
  Flag.withDescription("How many requests of the log, from the newest back, routed or not."),
  Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: requestsMax }))),
  Flag.withDefault(10_000)
)

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON. Amounts are exact decimals of USD, as text."),
  Flag.withDefault(false)
)

export const replayCommand = Command.make(
  "replay",
  { last, json, catalog: RouteCatalog.catalog, everyModel: RouteCatalog.everyModel },
  Effect.fn(function* ({ json, last }) {
    const tally = yield* replayed(last)
    const { version } = yield* Catalog
    yield* Console.log(
      json ? JSON.stringify(replayJson(tally, version), null, 2) : replayText(tally, version).join("\n")
    )
  })
).pipe(
  Command.withDescription(
    "Route the last requests of the log again, by the features that were logged of them: which models would answer, " +
      "what it would cost, which sessions would be on another model. Models count as served as they are by a gateway " +
      "with this environment."
  ),
  Command.provide((options) =>
    Layer.provideMerge(Router.layer, RouteCatalog.routeCatalogLayer(options)).pipe(
      Layer.merge(Connection.connectionLayer)
    )
  )
)

/** The last `count` requests of the log, routed again. */
export const replayed = Effect.fn("RouteReplay.replayed")(function* (count: number) {
  const tally = new RouteTally(yield* Catalog, yield* Router)
  yield* Stream.runForEachArray(recentRequests(count), (receipts) =>
    Effect.sync(() => receipts.forEach((receipt) => tally.add(receipt)))
  )
  return tally
})

export const replayJson = (tally: RouteTally, catalogVersion: string) => ({
  catalog_version: catalogVersion,
  requests: tally.requests,
  from: tally.span?.from ?? null,
  to: tally.span?.to ?? null,
  skipped: {
    not_routed: tally.notRouted,
    without_features: tally.withoutFeatures,
    unreadable: tally.unreadable
  },
  replayed: tally.replayed,
  changed: tally.changed,
  unanswerable: tally.unanswerable,
  models: rowsOf(tally).map(([model, counts]) => ({ model, ...counts })),
  expected_usd: comparisonJson(tally.expected),
  charged_usd: {
    same_model: comparisonJson(tally.charged),
    other_model: { requests: tally.moved.requests, before: toUsd(tally.moved.charged) }
  },
  sessions: { seen: tally.sessions, switched: tally.switched }
})

const comparisonJson = ({ after, before, requests }: RouteTally["expected"]) => ({
  requests,
  before: toUsd(before),
  after: toUsd(after)
})

/** The models that answer most first, then those that did. */
const rowsOf = ({ mix }: RouteTally) =>
  [...mix].sort(([a, x], [b, y]) => y.after - x.after || y.before - x.before || (a < b ? -1 : 1))

export const replayText = (tally: RouteTally, catalogVersion: string): ReadonlyArray<string> => {
  const { charged, expected, moved } = tally
  const span = tally.span === undefined ? "" : `, ${tally.span.from} to ${tally.span.to}`
  return [
    `${tally.requests} requests${span}; catalog ${catalogVersion}`,
    `${tally.replayed} routed again; skipped: ${tally.notRouted} not routed, ` +
      `${tally.withoutFeatures} without features, ${tally.unreadable} unreadable`,
    "",
    ...table(
      ["model", "before", "", "after", ""],
      rowsOf(tally).map(([model, { after, before }]) => [
        model,
        String(before),
        share(before, tally.replayed),
        String(after),
        share(after, tally.replayed)
      ]),
      [1, 2, 3, 4]
    ),
    "",
    `Another model: ${tally.changed} requests (${share(tally.changed, tally.replayed)}), ` +
      `of which ${tally.unanswerable} none could answer`,
    `Sessions: ${tally.switched} of ${tally.sessions} on another model`,
    `Expected cost: ${changeText(expected)} (${expected.requests} requests)`,
    `Charged, same model: ${changeText(charged)} (${charged.requests} requests, the same tokens)`,
    `Charged, other model: ${toUsd(moved.charged)} USD (${moved.requests} requests, not priced again)`
  ]
}

const share = (part: number, whole: number): string => (whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)}%`)

const changeText = ({ after, before }: { readonly before: Picodollars; readonly after: Picodollars }): string => {
  const change = before === 0n ? "" : ` ${signed((100 * Number(after - before)) / Number(before))}%`
  return `${toUsd(before)} USD before, ${toUsd(after)} now${change}`
}

const signed = (percent: number): string => `${percent < 0 ? "" : "+"}${percent.toFixed(1)}`
