/**
 * Points in time as SQL. They come from Effect's Clock, so that tests can control the time. Only the ledger's leases
 * and holds use the clock of the database, because all gateways share it.
 */
import { Clock, Effect } from "effect"
import { Statement } from "effect/sql"

/** A `timestamptz` from milliseconds since 1970. */
export const timestamp = (millis: number): Statement.Fragment =>
  Statement.fragment([
    Statement.literal("to_timestamp("),
    Statement.parameter(millis),
    Statement.literal("::float8 / 1000)")
  ])

/** Now, as a `timestamptz`. */
export const currentTimestamp: Effect.Effect<Statement.Fragment> = Effect.map(Clock.currentTimeMillis, timestamp)
