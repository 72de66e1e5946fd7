/** What an organization has. One statement reads it, for the ledger of a gateway and for operators without one. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

import type { OrganizationId } from "../domain/Ids.ts"
import { type Picodollars, picodollars, zero } from "../domain/Money.ts"

/** The amounts of an account, in picodollars. Their sum is the sum of its journal entries. */
export interface Balance {
  /** What can be spent: settled money minus open holds. May be negative. */
  readonly available: Picodollars
  readonly held: Picodollars
}

/** Zero for an organization without an account. */
export const findBalance = (
  sql: SqlClient.SqlClient,
  organization: OrganizationId
): Effect.Effect<Balance, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly balance: bigint; readonly held: bigint }>`
      SELECT balance, held FROM credit_account WHERE organization_id = ${organization}::uuid`,
    ([account]) =>
      account === undefined
        ? { available: zero, held: zero }
        : { available: picodollars(account.balance), held: picodollars(account.held) }
  )
