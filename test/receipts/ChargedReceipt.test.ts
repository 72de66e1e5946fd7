/** Receipts of charged requests, found wherever they are: in memory, in the log, or with the charge in the journal. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"

import { organizationId, requestId } from "../../src/domain/Ids.ts"
import { picodollars, zero } from "../../src/domain/Money.ts"
import type { ChargeFacts, Receipt } from "../../src/receipts/Receipt.ts"
import { RequestLog } from "../../src/receipts/RequestLog.ts"
import { encodeChargeFacts } from "../../src/receipts/StoredReceipt.ts"
import { whileTimePasses } from "../support/PassingTime.ts"
import { describeOnEngines, whileLocked } from "../support/TestDatabase.ts"
import { receiptOf } from "./receipts.ts"

interface Charged {
  readonly receipt: Receipt
  readonly facts: ChargeFacts
}

/** A request of a new organization, with its facts. */
const chargedRequest = (): Charged => {
  const receipt = { ...receiptOf(1), id: requestId(randomUUID()), organization: organizationId(randomUUID()) }
  const { attempts: _a, cost: _c, id: _i, organization: _o, rates: _r, routing: _rr, served, usage, ...rest } = receipt
  if (served === undefined || usage === undefined) return assert.fail("the sample receipt is of a charged request")
  return { receipt, facts: { ...rest, served, usage } }
}

const book = Effect.fnUntraced(function* ({ facts, receipt: { cost, id, organization } }: Charged) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount, facts)
    VALUES (${id}, ${organization}, 'charge', ${-cost}, ${encodeChargeFacts(facts)}::text::jsonb)`
  const rates = { input: "1", cacheRead: "2", cacheWrite5m: "3", cacheWrite1h: "4", audioInput: "5", output: "6" }
  yield* sql`INSERT INTO price_list (catalog_version, endpoint, price)
    VALUES (${facts.catalogVersion}, ${facts.served.endpoint}, ${JSON.stringify({ rates, tiers: [] })}::text::jsonb)
    ON CONFLICT DO NOTHING`
})

const store = Effect.fnUntraced(function* (log: RequestLog["Service"], receipt: Receipt) {
  const sql = yield* SqlClient.SqlClient
  yield* log.record(receipt)
  const stored = sql`SELECT id FROM logged_request WHERE id = ${receipt.id}`
  yield* whileTimePasses(Effect.repeat(stored, { while: (rows) => rows.length === 0 }))
})

/** What a try of the same request leaves that failed. */
const failed = ({ rates: _r, served: _s, usage: _u, ...receipt }: Receipt): Receipt => ({
  ...receipt,
  outcome: "internal_error",
  attempts: [],
  cost: zero
})

describeOnEngines("Receipts of charged requests", (suite) => {
  suite.layer(RequestLog.layer)((it) => {
    it.effect("are found while they are not stored yet", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const { receipt } = chargedRequest()
        yield* log.record(receipt)
        assert.deepStrictEqual(yield* log.find(receipt.organization, receipt.id), Option.some(receipt))
        const other = organizationId(randomUUID())
        assert.deepStrictEqual(yield* log.find(other, receipt.id), Option.none())
      })
    )

    it.effect("are found without the database while the log cannot be written", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const { receipt } = chargedRequest()
        const recordAndFind = Effect.andThen(log.record(receipt), log.find(receipt.organization, receipt.id))
        const found = yield* whileLocked("logged_request", recordAndFind, 0)
        assert.deepStrictEqual(found, Option.some(receipt))
      })
    )

    it.effect("are found at once of requests that cost nothing as well", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const receipt = failed(chargedRequest().receipt)
        yield* log.record(receipt)
        assert.deepStrictEqual(yield* log.find(receipt.organization, receipt.id), Option.some(receipt))
      })
    )

    it.effect("are made from the charge where the gateway was killed before it stored them", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const charged = chargedRequest()
        yield* book(charged)
        const { cost, id, organization } = charged.receipt
        const found = Option.getOrThrow(yield* log.find(organization, id))
        const rates = Object.fromEntries(
          Object.entries(found.rates ?? {}).map(([bucket, rate]) => [bucket, Number(rate)])
        )
        assert.deepStrictEqual(rates, {
          input: 1,
          cacheRead: 2,
          cacheWrite5m: 3,
          cacheWrite1h: 4,
          audioInput: 5,
          output: 6
        })
        assert.deepStrictEqual(
          { ...found, rates: {} },
          { ...charged.facts, id, organization, cost, attempts: [], rates: {} }
        )
        assert.deepStrictEqual(yield* log.find(organizationId(randomUUID()), id), Option.none())
      })
    )

    it.effect("say what was charged although a later try failed, stored or not", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const charged = chargedRequest()
        const { cost, id, organization } = charged.receipt
        yield* book(charged)
        const seen = Effect.map(log.find(organization, id), (found) => {
          const receipt = Option.getOrThrow(found)
          assert.deepStrictEqual(
            [receipt.cost, receipt.usage, receipt.outcome],
            [cost, charged.facts.usage, "completed"]
          )
        })
        yield* log.record(failed(charged.receipt))
        yield* seen
        yield* store(log, failed(charged.receipt))
        yield* seen
      })
    )

    it.effect("keep their routing and attempts when they agree with the charge", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const charged = chargedRequest()
        yield* book(charged)
        yield* store(log, charged.receipt)
        const { id, organization } = charged.receipt
        assert.deepStrictEqual(yield* log.find(organization, id), Option.some(charged.receipt))
      })
    )

    it.effect("have facts that decode to what was encoded, whatever text they hold", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const charged = chargedRequest()
        yield* book({ ...charged, facts: { ...charged.facts, callName: "nul \0 and half a pair \ud800" } })
        const found = yield* log.find(charged.receipt.organization, charged.receipt.id)
        assert.strictEqual(Option.getOrThrow(found).callName, "nul \ufffd and half a pair \ufffd")
        assert.strictEqual(Option.getOrThrow(found).held, picodollars(9_007_199_254_740_993n))
      })
    )
  })
})
