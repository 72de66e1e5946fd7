/**
 * Deletes the rows of a table once their `expires_at` has passed. Every replica does so, and skips the rows that
 * another one is deleting at the same time.
 */
import { type Duration, Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { currentTimestamp } from "./Timestamp.ts"

/** A table with a column `expires_at`, and how to delete its expired rows. */
export interface ExpiringTable {
  readonly table: string
  /** The columns of its primary key. */
  readonly key: ReadonlyArray<string>
  /** Rows to delete with one statement. */
  readonly batchSize: number
  readonly every: Duration.Input
}

/** Deletes expired rows in batches, at once and then at every interval, until the scope closes. */
export const deleteExpired = Effect.fnUntraced(function* ({
  batchSize,
  every,
  key,
  table
}: ExpiringTable): Effect.fn.Return<void, never, SqlClient.SqlClient | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.csv(key.map((column) => sql`${sql(column)}`))
  /** Deletes one batch, and returns whether there may be more rows to delete. */
  const deleteBatch = Effect.gen(function* () {
    const now = yield* currentTimestamp
    const deleted = yield* sql`
      DELETE FROM ${sql(table)} WHERE (${columns}) IN (
        SELECT ${columns} FROM ${sql(table)} WHERE expires_at <= ${now}
        ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
      ) RETURNING 1 AS deleted`
    return deleted.length === batchSize
  }).pipe(Effect.withSpan("Expiry.deleteBatch", { attributes: { table } }))
  yield* repeatInBackground({
    run: Effect.repeat(deleteBatch, { while: (more) => more }),
    every,
    startAtOnce: true,
    failureMessage: `Expired rows of ${table} could not be deleted`
  })
})
