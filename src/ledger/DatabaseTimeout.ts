/** For how long statements beside the batches wait for the database. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"

import { type LedgerError, ledgerErrorOf, ledgerUnavailable } from "./LedgerError.ts"

/** How long payments, balances, lists and the last sweep wait for the database. */
export const databaseTimeout = "5 seconds"

/** Turns failures of the database into `LedgerError`, and a statement that takes too long as well. */
export const withinTimeout = <A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, LedgerError> =>
  statement.pipe(
    Effect.mapError(ledgerErrorOf),
    Effect.timeoutOrElse({
      duration: databaseTimeout,
      orElse: () => Effect.fail(ledgerUnavailable("the database does not answer"))
    })
  )
