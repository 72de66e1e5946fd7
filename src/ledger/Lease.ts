/**
 * The sign of life of this process. Its holds are safe as long as its lease is fresh by the database's clock, which is
 * the only clock that all gateways share; holds of a gateway without a fresh lease are given back.
 */
import { Duration, Effect, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

const heartbeatInterval = Duration.seconds(5)
const giveUpTimeout = Duration.seconds(5)

/** A gateway that was silent for longer is dead. As PostgreSQL writes it. */
export const leaseLifetime = "30 seconds"

/** Registers this boot under an id of its own. The lease is given up with the scope. */
export const acquireLease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const gateway = yield* Effect.sync(() => SecureRandom.uuidV4Unsafe())
  // A lease that was taken from a gateway which was only slow comes back with its next heartbeat.
  const heartbeat = sql`
    INSERT INTO gateway_lease (id) VALUES (${gateway}::uuid)
    ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()`
  const giveUp = sql`DELETE FROM gateway_lease WHERE id = ${gateway}::uuid`
  yield* Effect.acquireRelease(heartbeat, () =>
    Effect.catchCause(Effect.timeout(giveUp, giveUpTimeout), (cause) =>
      Effect.logWarning("The lease could not be given up; it runs out", cause)
    )
  )
  yield* heartbeat.pipe(
    Effect.catchCause((cause) => Effect.logWarning("The heartbeat of this gateway failed", cause)),
    Effect.schedule(Schedule.spaced(heartbeatInterval)),
    Effect.forkScoped
  )
  return gateway
})
