/**
 * What each charge was computed from, written with the charge itself, so that no charge is ever without an explanation.
 * Entries of earlier versions have none; the receipts of their requests explain them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const chargeFactsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Amounts of money in it are decimal text, because JSON numbers would round them. Adding the column rewrites nothing.
  yield* sql`ALTER TABLE credit_entry ADD COLUMN facts jsonb`
})
