/** What the gateway counted as costs of a provider, where receipts are missing. */
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"

import { BillTotals } from "../../src/audit/Reconciliation.ts"
import { endpointId, modelId, requestId } from "../../src/domain/Ids.ts"
import { picodollars, zero } from "../../src/domain/Money.ts"
import { insertLatest, logParameters } from "../../src/receipts/LogColumns.ts"
import { dayOf, requirePartition } from "../../src/receipts/LogPartitions.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { receiptOf } from "../receipts/receipts.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"

/** The first day of the virtual clock. */
const day = "1970-01-01"
const idOf = (number: number) => requestId(`00000000-0001-7000-9000-${number.toString(16).padStart(12, "0")}`)

const charged = (number: number): Receipt => ({
  ...receiptOf(number),
  id: idOf(number),
  atMillis: 1,
  served: { model: modelId("gpt-5"), endpoint: endpointId("openai/gpt-5") },
  cost: picodollars(100n),
  providerCost: picodollars(70n)
})

const store = (receipt: Receipt) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(insertLatest, logParameters([receipt])))

/** Books a charge, of a version that stored the provider's cost or of one that did not. */
const book = Effect.fnUntraced(function* (receipt: Receipt, costs: object = { providerCost: "70" }) {
  const sql = yield* SqlClient.SqlClient
  const facts = JSON.stringify({ served: receipt.served, ...costs })
  yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount, at, facts)
    VALUES (${receipt.id}, ${receipt.organization}, 'charge', -100, now(), ${facts}::text::jsonb)`
})

const counted = Effect.gen(function* () {
  const totals = new BillTotals((name) => modelId(name), { from: day, to: day })
  const tolerance = { amount: zero, millionths: 0n }
  return (yield* totals.compareWith("openai", { from: day, to: day }, tolerance)).counted
})

describeOnEngines("What is reconciled", (it) => {
  it.effect("counts charges that have no receipt of their own, once", () =>
    Effect.gen(function* () {
      yield* requirePartition(dayOf(yield* Clock.currentTimeMillis))
      yield* store(charged(1))
      yield* book(charged(1))
      assert.strictEqual(yield* counted, picodollars(70n))
      // Its gateway was killed before it stored the receipt.
      yield* book(charged(2))
      assert.strictEqual(yield* counted, picodollars(140n))
      // A repeat found it charged, and its own call of the provider is not charged.
      const { usage, ...failed } = charged(2)
      yield* store({ ...failed, cost: zero, ...(usage && { unchargedUsage: usage }), providerCost: picodollars(9n) })
      assert.strictEqual(yield* counted, picodollars(149n))
      // Of a version that charged what the provider bills, and of an organization that could not pay all of it.
      yield* book(charged(3), {})
      yield* book(charged(4), { uncollected: "20" })
      assert.strictEqual(yield* counted, picodollars(369n))
      // Nor does it count what is of another provider, or of another day.
      yield* book({ ...charged(5), served: { model: modelId("gpt-5"), endpoint: endpointId("azure/gpt-5") } })
      yield* book({ ...charged(6), id: requestId("00000600-0000-7000-9000-000000000006") })
      assert.strictEqual(yield* counted, picodollars(369n))
    }).pipe(rolledBack)
  )

  it.effect("is what was counted of days whose receipts are not kept any more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* requirePartition(dayOf(yield* Clock.currentTimeMillis))
      yield* store(charged(1))
      yield* book(charged(1))
      yield* sql`DROP TABLE logged_request_19700101`
      assert.strictEqual(yield* counted, picodollars(70n))
    }).pipe(rolledBack)
  )
})
