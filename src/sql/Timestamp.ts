/** Points in time as SQL. The gateway's times come from Effect's Clock, never from the database's. */
import type { SqlClient, Statement } from "effect/sql"

/** A `timestamptz` of milliseconds since 1970. */
export const timestamp = (sql: SqlClient.SqlClient, millis: number): Statement.Fragment =>
  sql`to_timestamp(${millis}::float8 / 1000)`
