/**
 * The prices of providers that were ever in force, stored by catalog version and endpoint. Every gateway stores those
 * of its catalog at start. The rule: a stored price never changes, so the catalog version and the endpoint on a receipt
 * always lead to the price of the provider, and the rule on the receipt from there to the price that was charged.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"

import { Catalog } from "../catalog/Catalog.ts"
import { providerPriceOf } from "../catalog/ChargeRules.ts"
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

/** The schema of a stored price. A change must still decode every price that was ever stored. */
export const StoredPrice = Schema.Struct({
  rates: Rates,
  tiers: Schema.Array(Schema.Struct({ abovePromptTokens: Schema.Finite, rates: Rates })),
  minimumAudioMillis: Schema.optionalKey(Schema.Finite)
}) satisfies Schema.Schema<Price>

const encode = Schema.encodeSync(Schema.fromJsonString(StoredPrice))

/** Decodes a stored price, after the database has parsed the JSON. */
export const decodePrice = Schema.decodeUnknownEffect(StoredPrice)

/** Stores the prices of the catalog in use. Prices that are stored already, as by another replica, stay as they are. */
export const recordPrices = Effect.gen(function* () {
  const { models, version } = yield* Catalog
  const sql = yield* SqlClient.SqlClient
  const endpoints = models.flatMap((model) => model.endpoints)
  yield* sql`
    INSERT INTO price_list (catalog_version, endpoint, price)
    SELECT ${version}, endpoint, price::jsonb
    FROM unnest(
      ${endpoints.map(({ id }) => id)}::text[],
      ${endpoints.map((endpoint) => encode(providerPriceOf(endpoint)))}::text[]
    ) AS priced(endpoint, price)
    ON CONFLICT DO NOTHING`
}).pipe(Effect.withSpan("PriceList.record"))

/** Stores the prices before anything that is built on this layer can serve a request. */
export const priceListLayer = Layer.effectDiscard(recordPrices)
