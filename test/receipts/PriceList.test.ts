import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { Catalog } from "../../src/catalog/Catalog.ts"
import { decodePrice, recordPrices } from "../../src/receipts/PriceList.ts"
import { atPrice } from "../audit/history.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"

interface Row {
  readonly endpoint: string
  readonly price: unknown
}

describeOnEngines("PriceList", (it) => {
  it.effect("stores the price of every endpoint once, however many gateways start", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { models, version } = yield* Catalog
      yield* Effect.all([recordPrices, recordPrices, recordPrices], { concurrency: "unbounded" })
      const rows = yield* sql<Row>`SELECT endpoint, price FROM price_list WHERE catalog_version = ${version}`
      const stored = new Map(rows.map(({ endpoint, price }) => [endpoint, price]))
      const endpoints = models.flatMap((model) => model.endpoints)
      assert.strictEqual(rows.length, endpoints.length)
      for (const { id, price } of endpoints) assert.deepStrictEqual(yield* decodePrice(stored.get(id)), price)
    }).pipe(Effect.provide(atPrice("1.25")))
  )

  it.effect(
    "stores a price per token in the format of versions that had no other kind of price, and reads theirs",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { version } = yield* Catalog
        yield* recordPrices
        const [row] = yield* sql<Row>`
        SELECT price FROM price_list WHERE catalog_version = ${version} AND endpoint = 'acme/acme-1'`
        const rates = (input: string, output: string, cacheRead: string, write: string) => ({
          input,
          output,
          cacheRead,
          cacheWrite5m: write,
          cacheWrite1h: write,
          audioInput: input
        })
        const old = {
          rates: rates("1250000", "8000000", "100000", "1500000"),
          tiers: [{ abovePromptTokens: 200_000, rates: rates("4000000", "16000000", "4000000", "4000000") }]
        }
        assert.deepStrictEqual(row?.price, old)
        assert.strictEqual((yield* decodePrice(old)).rates.cacheWrite1h, 1_500_000n as never)
      }).pipe(Effect.provide(atPrice("1.25")))
  )

  it.effect("keeps the prices of a catalog that is no longer in use, unchanged", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const inputs = sql<{ readonly input: string }>`
        SELECT price->'rates'->>'input' AS input FROM price_list WHERE endpoint = 'acme/acme-1'`
      for (const price of ["2.5", "7.5"]) yield* Effect.provide(Catalog, atPrice(price), { local: true })
      const stored = (yield* inputs).map(({ input }) => input)
      assert.includeMembers(stored, ["2500000", "7500000"])
      const error = yield* Effect.flip(sql`UPDATE price_list SET price = '{}'`)
      assert.include(String(error.reason.cause), "price_list is append-only")
    })
  )
})
