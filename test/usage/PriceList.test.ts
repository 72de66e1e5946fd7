import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { Catalog } from "../../src/catalog/Catalog.ts"
import { decode, record } from "../../src/usage/PriceList.ts"
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
      yield* Effect.all([record, record, record], { concurrency: "unbounded" })
      const rows = yield* sql<Row>`SELECT endpoint, price FROM price_list WHERE catalog_version = ${version}`
      const stored = new Map(rows.map(({ endpoint, price }) => [endpoint, price]))
      const endpoints = models.flatMap((model) => model.endpoints)
      assert.strictEqual(rows.length, endpoints.length)
      for (const { id, price } of endpoints) assert.deepStrictEqual(yield* decode(stored.get(id)), price)
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
