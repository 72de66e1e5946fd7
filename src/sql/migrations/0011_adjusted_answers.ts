/** Keeps with a recorded answer what became of the parameters of its request, so that a replay names it as well. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const adjustedAnswersMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE recorded_answer ADD COLUMN adjusted text`
})
