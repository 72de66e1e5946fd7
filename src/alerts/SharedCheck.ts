/** Checks that one gateway does for all that share its database. */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"

import { timestamp } from "../sql/Timestamp.ts"

export interface SharedCheck {
  readonly name: string
  /** From the end of one check to the next. */
  readonly every: Duration.Duration
}

/** If a gateway is killed during a check, another one is due only after this time. Longer than any check takes. */
const longestCheck = Duration.hours(1)
/** A check that takes long is made rarer: it takes this share of the time at most. */
const maxShare = 1 / 20

/** Runs `check` if it is due, and no other gateway has begun it. */
export const ifDue = <E, R>({ every, name }: SharedCheck, check: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const startedAt = yield* Clock.currentTimeMillis
    const claimed = yield* sql`
      INSERT INTO alert_check (name, due_at)
      VALUES (${name}, ${timestamp(startedAt + Duration.toMillis(longestCheck))})
      ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at
        WHERE alert_check.due_at <= ${timestamp(startedAt)}
      RETURNING 1 AS claimed`
    if (claimed.length === 0) return
    const finish = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const wait = Math.max(Duration.toMillis(every), (now - startedAt) / maxShare)
      yield* sql`UPDATE alert_check SET due_at = ${timestamp(now + wait)} WHERE name = ${name}`
    })
    yield* Effect.tapError(check, () => Effect.ignore(finish))
    yield* finish
  })
