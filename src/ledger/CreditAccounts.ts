/** All accounts as they stand, in order of organization, for operators. Read in pages by key. */
import { Effect, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"

import { type OrganizationId, organizationId } from "../domain/Ids.ts"
import { picodollars } from "../domain/Money.ts"
import type { Balance } from "./CreditLedger.ts"

const pageSize = 500

/** Before every id. */
const start = "00000000-0000-0000-0000-000000000000"

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

export const creditAccounts = Stream.paginate(start, (after) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<Row>`
      SELECT organization_id, balance, held FROM credit_account
      WHERE organization_id > ${after}::uuid ORDER BY organization_id LIMIT ${pageSize}`
    const last = rows.at(-1)
    return [
      rows.map(accountOf),
      last === undefined ? Option.none<string>() : Option.some(last.organization_id)
    ] as const
  })
)
