/**
 * The prices in force, stored under the version of the catalog they belong to. Every gateway writes its own at start,
 * and what is stored is never changed, so a receipt's version and endpoint lead to the price of its day for ever.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"

import { Catalog } from "../catalog/Catalog.ts"
import type { Price } from "../catalog/Price.ts"
import { StoredPicodollars } from "./StoredReceipt.ts"

const Rates = Schema.Struct({
  input: StoredPicodollars,
  cacheRead: StoredPicodollars,
  cacheWrite5m: StoredPicodollars,
  cacheWrite1h: StoredPicodollars,
  audioInput: StoredPicodollars,
  output: StoredPicodollars,
  audioHour: Schema.optionalKey(StoredPicodollars)
})

export const StoredPrice = Schema.Struct({
  rates: Rates,
  tiers: Schema.Array(Schema.Struct({ abovePromptTokens: Schema.Finite, rates: Rates })),
  minimumAudioMillis: Schema.optionalKey(Schema.Finite)
}) satisfies Schema.Schema<Price>

const encode = Schema.encodeSync(Schema.fromJsonString(StoredPrice))

/** Reads a stored price, once the database has parsed the JSON. */
export const decodePrice = Schema.decodeUnknownEffect(StoredPrice)

/** Stores the prices of the catalog in use. Replicas do the same at the same time; what is there already stays. */
export const recordPrices = Effect.gen(function* () {
  const { models, version } = yield* Catalog
  const sql = yield* SqlClient.SqlClient
  const endpoints = models.flatMap((model) => model.endpoints)
  yield* sql`
    INSERT INTO price_list (catalog_version, endpoint, price)
    SELECT ${version}, endpoint, price::jsonb
    FROM unnest(
      ${endpoints.map(({ id }) => id)}::text[],
      ${endpoints.map(({ price }) => encode(price))}::text[]
    ) AS t(endpoint, price)
    ON CONFLICT DO NOTHING`
}).pipe(Effect.withSpan("PriceList.record"))

/** Whoever is built on this serves at prices that are stored. */
export const priceListLayer = Layer.effectDiscard(recordPrices)
