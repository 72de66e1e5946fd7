/** A tenant whose key has a budget of which nothing is left. */
import { randomUUID } from "node:crypto"

import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { TestGateway } from "./TestGateway.ts"

export const tenantOnSpentBudget = Effect.gen(function* () {
  const gateway = yield* TestGateway
  const sql = yield* SqlClient.SqlClient
  const tenant = yield* gateway.tenant("1")
  yield* Effect.orDie(sql`
    INSERT INTO budget (id, organization_id, subject, subject_id, amount, spent, period, time_zone, period_start,
      created_at)
    VALUES (${randomUUID()}, ${tenant.organization}, 'api_key', ${tenant.keyId}, 1000000000000, 1000400000000, 'month',
      'UTC', date_trunc('month', now(), 'UTC'), now())`)
  return tenant
})
