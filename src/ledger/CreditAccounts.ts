/** All accounts as they are, in order of organization, for operators. Read in pages, not in one transaction. */
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"

import { type OrganizationId, organizationId } from "../domain/Ids.ts"
import { picodollars } from "../domain/Money.ts"
import { pagesByKey } from "../sql/Pages.ts"
import type { Balance } from "./Balance.ts"

const pageSize = 500

export interface CreditAccount extends Balance {
  readonly organization: OrganizationId
}

interface Row {
  readonly organization_id: string
  readonly balance: bigint
  readonly held: bigint
}

const accountOf = (row: Row): CreditAccount => ({
  organization: organizationId(row.organization_id),
  available: picodollars(row.balance),
  held: picodollars(row.held)
})

export const creditAccounts = pagesByKey({
  read: (after) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<Row>`
        SELECT organization_id, balance, held FROM credit_account
        WHERE organization_id > ${after}::uuid ORDER BY organization_id LIMIT ${pageSize}`
    ),
  keyOf: (row) => row.organization_id
}).pipe(Stream.map(accountOf))
