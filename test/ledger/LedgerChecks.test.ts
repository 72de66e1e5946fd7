import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { accountMismatches } from "../../src/ledger/LedgerChecks.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { funded, newOrganization, newRequest, pico, withLedger } from "./TestLedger.ts"

describeOnEngines("LedgerChecks", (it) => {
  it.effect("find every kind of account that does not agree", () =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const sql = yield* SqlClient.SqlClient
      const [balanceOff, heldOff, noAccount] = [yield* funded(5), yield* funded(5), newOrganization()]
      yield* sql`UPDATE credit_account SET balance = balance + 1 WHERE organization_id = ${balanceOff}::uuid`
      yield* sql`UPDATE credit_account SET held = 2, balance = 3 WHERE organization_id = ${heldOff}::uuid`
      yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount)
        VALUES (${newRequest()}::uuid, ${noAccount}::uuid, 'charge', -4)`
      const mismatches = (yield* accountMismatches).map(
        ({ organization, ...sums }) => [organization, Object.values(sums)] as const
      )
      assert.deepStrictEqual(
        new Map(mismatches),
        new Map([
          [balanceOff, [6n, 0n, 5n, 0n].map(pico)],
          [heldOff, [3n, 2n, 5n, 0n].map(pico)],
          [noAccount, [0n, 0n, -4n, 0n].map(pico)]
        ])
      )
      assert.strictEqual((yield* ledger.balance(noAccount)).available, pico(0))
    }).pipe(withLedger)
  )
})
