/** Rows that a statement always returns. */
import { Effect } from "effect"

/** The first row of a statement that cannot return none, such as an INSERT of one row with RETURNING. */
export const firstRow = <Row>(rows: ReadonlyArray<Row>): Effect.Effect<Row> => {
  const [row] = rows
  return row === undefined ? Effect.die(new Error("The statement returned no row")) : Effect.succeed(row)
}
