import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { sweep } from "../../src/ledger/Sweeper.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  balanceOf,
  eventually,
  funded,
  newRequest,
  silenceGateways,
  takeHold,
  withLedger
} from "./TestLedger.ts"

/** Makes all holds look older by this interval. */
const age = Effect.fnUntraced(function* (by: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE credit_hold SET expires_at = expires_at - ${by}::interval`
})

describeOnEngines("Sweeper", (it) => {
  it.effect(
    "gives back the holds of a dead gateway within ten seconds, in batches, and keeps those of a live one",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const organization = yield* funded(10_000)
        const dead = newRequest()
        yield* takeHold(organization, 100)
        yield* sql`INSERT INTO credit_hold
        SELECT gen_random_uuid(), ${organization}::uuid, 1, ${dead}::uuid, now() + interval '1 hour'
        FROM generate_series(1, 2500)`
        yield* sql`UPDATE credit_account SET balance = balance - 2500, held = held + 2500
        WHERE organization_id = ${organization}::uuid`
        yield* sql`INSERT INTO gateway_lease VALUES (${dead}::uuid, now() - interval '31 seconds')`
        yield* TestClock.adjust("10 seconds")
        yield* eventually(balanceOf(organization), [9_900n, 100n])
        assert.strictEqual(yield* sweep, 0)
        assert.deepStrictEqual(yield* sql`SELECT id FROM gateway_lease WHERE id = ${dead}::uuid`, [])
      }).pipe(Effect.scoped, withLedger)
  )

  it.effect("keeps the holds of a gateway that goes on sending heartbeats", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = yield* funded(1_000)
      yield* takeHold(organization, 100)
      yield* silenceGateways
      yield* TestClock.adjust("5 seconds")
      const fresh = sql<{
        n: number
      }>`SELECT count(*)::int AS n FROM gateway_lease WHERE heartbeat_at > now() - interval '9 s'`
      yield* eventually(
        Effect.map(fresh, ([row]) => row?.n),
        1
      )
      assert.strictEqual(yield* sweep, 0)
      assert.deepStrictEqual(yield* balanceOf(organization), [900n, 100n])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("gives back a hold that is older than an hour although its gateway is alive", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000)
      yield* takeHold(organization, 100)
      yield* age("59 minutes")
      assert.strictEqual(yield* sweep, 0)
      yield* age("2 minutes")
      assert.strictEqual(yield* sweep, 1)
      assert.deepStrictEqual(yield* balanceOf(organization), [1_000n, 0n])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("refunds every minute the holds of its gateway that are unknown to it and a minute old", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = yield* funded(1_000)
      yield* takeHold(organization, 100)
      yield* sql`INSERT INTO credit_hold SELECT ${newRequest()}::uuid, organization_id, 7, gateway_id, expires_at
        FROM credit_hold WHERE organization_id = ${organization}::uuid`
      yield* sql`UPDATE credit_account SET balance = balance - 7, held = held + 7
        WHERE organization_id = ${organization}::uuid`
      yield* TestClock.adjust("1 minute")
      yield* Effect.scoped(takeHold(organization, 1))
      assert.deepStrictEqual(yield* balanceOf(organization), [893n, 107n])
      yield* age("61 seconds")
      yield* TestClock.adjust("1 minute")
      yield* eventually(balanceOf(organization), [900n, 100n])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("keeps accounts that agree with their entries and holds, after all of the above", () => assertBooksAgree)
})
