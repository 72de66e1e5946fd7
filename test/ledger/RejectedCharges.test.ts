import { assert } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { audit } from "../../src/audit/Audit.ts"
import type { OrganizationId } from "../../src/domain/Ids.ts"
import { maximum } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { checkRejectedCharges } from "../../src/ledger/RejectedCharges.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  balanceOf,
  charges,
  eventually,
  funded,
  newOrganization,
  newRequest,
  takeHold,
  withLedger
} from "./TestLedger.ts"

const facts = '{"why":"a test"}'

/** Charges of which two fit into an account, and the third would take it out of the range of BIGINT. */
const overcharged = Effect.gen(function* () {
  const organization = yield* funded(1)
  const scope = yield* Scope.make()
  const holds = yield* Effect.replicateEffect(Scope.provide(takeHold(organization, 0), scope), 3)
  for (const hold of holds) yield* Effect.forkDetach(hold.settle(maximum, facts), { startImmediately: true })
  yield* eventually(
    Effect.map(charges(organization), ({ length }) => length),
    2
  )
  return { organization, third: holds[2] ?? assert.fail("three holds") }
})

const rejectedOf = (organization: OrganizationId) =>
  Effect.map(checkRejectedCharges, ({ rows }) => rows.filter((row) => row.organization === organization))

/** Passes the minutes in which a rejected charge is tried, one at a time, until it was set aside. */
const untilSetAside = Effect.fnUntraced(function* (organization: OrganizationId) {
  let minutes = 0
  while ((yield* rejectedOf(organization)).length === 0) {
    assert.isBelow(minutes++, 20, "it is tried for ever")
    yield* TestClock.adjust("1 minute")
    // The next write is behind the one that is tried.
    yield* Effect.scoped(takeHold(yield* funded(1), 1))
  }
})

describeOnEngines("RejectedCharges", (it) => {
  it.effect("sets a charge aside that the database rejects again and again, with an alarm, and releases its hold", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const log = Logger.make(({ logLevel, message }) => void lines.push([logLevel, message]))
      const organization = yield* Effect.gen(function* () {
        const { organization, third } = yield* overcharged
        yield* untilSetAside(organization)
        const [rejected, ...others] = yield* rejectedOf(organization)
        assert.deepStrictEqual(others, [])
        assert.deepInclude(rejected, { request: third.request, organization, amount: maximum })
        assert.include(rejected?.reason, "out of range")
        const sql = yield* SqlClient.SqlClient
        yield* eventually(sql`SELECT id FROM credit_hold WHERE organization_id = ${organization}::uuid`, [])
        // An answer that says what was charged in the end says nothing was.
        const settled = yield* third.settle(maximum, facts)
        assert.strictEqual(settled.charge.amount, 0n)
        return organization
      }).pipe(withLedger, Effect.provide(Logger.layer([log])))
      assert.match(JSON.stringify(lines), /Error.*set aside/)

      // It is over: credit that would make room for the charge does not bring it back.
      yield* Effect.gen(function* () {
        yield* (yield* CreditLedger).grant({ payment: newRequest(), organization, amount: maximum })
        yield* TestClock.adjust("10 minutes")
        yield* Effect.scoped(takeHold(yield* funded(1), 1))
        assert.strictEqual((yield* charges(organization)).length, 2)
      }).pipe(withLedger)
    })
  )

  it.effect("sets a rejected charge aside when the ledger closes before it has been tried often enough", () =>
    Effect.gen(function* () {
      const { organization, third } = yield* withLedger(overcharged)
      const rejected = yield* rejectedOf(organization)
      assert.deepStrictEqual(
        rejected.map(({ request }) => request),
        [third.request]
      )
      assert.deepStrictEqual(yield* withLedger(balanceOf(organization)), [1n - 2n * maximum, 0n])
    })
  )

  it.effect("is named by the audit until an operator has booked it", () =>
    Effect.gen(function* () {
      const { organization } = yield* withLedger(overcharged)
      const named = Effect.map(audit, ({ findings }) =>
        findings.filter((finding) => finding.organization === organization).map(({ check }) => check)
      )
      assert.include(yield* named, "rejected_charge")
      const sql = yield* SqlClient.SqlClient
      // The same id in the journal of another organization is another charge.
      yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount)
        SELECT id, ${newOrganization()}::uuid, 'charge', 0 FROM rejected_charge
        WHERE organization_id = ${organization}::uuid`
      assert.include(yield* named, "rejected_charge")
      const booked = yield* Effect.exit(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* withLedger(
              Effect.flatMap(CreditLedger, (ledger) =>
                ledger.grant({ payment: newRequest(), organization, amount: maximum })
              )
            )
            yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount, facts)
              SELECT id, organization_id, 'charge', -amount, facts::jsonb FROM rejected_charge
              WHERE organization_id = ${organization}::uuid`
            yield* sql`UPDATE credit_account SET balance = balance - ${maximum}
              WHERE organization_id = ${organization}::uuid`
          })
        )
      )
      assert.isTrue(Exit.isSuccess(booked))
      assert.notInclude(yield* named, "rejected_charge")
      assert.deepStrictEqual(yield* rejectedOf(organization), [])
    })
  )

  it.effect("keeps accounts that agree with their entries and holds, after all of the above", () => assertBooksAgree)
})
