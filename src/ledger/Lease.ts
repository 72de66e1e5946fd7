/**
 * The proof that this process is alive. Its holds are safe as long as its lease is fresh by the database's clock, which
 * is the only clock that all gateways share. Holds of a gateway without a fresh lease are given back.
 */
import { Duration, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"

const heartbeatInterval = Duration.seconds(5)
const releaseTimeout = Duration.seconds(5)

/** A gateway without a heartbeat for this long counts as dead. A PostgreSQL interval. */
export const leaseLifetime = "30 seconds"

/** Registers this process under a new id, which is returned. The lease is released with the scope. */
export const acquireLease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const gateway = yield* random.uuidV4()
  // A lease that was deleted while its gateway was only slow comes back with the next heartbeat.
  const heartbeat = sql`
    INSERT INTO gateway_lease (id) VALUES (${gateway}::uuid)
    ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()`
  const release = sql`DELETE FROM gateway_lease WHERE id = ${gateway}::uuid`
  yield* Effect.acquireRelease(heartbeat, () =>
    Effect.catchCause(Effect.timeout(release, releaseTimeout), (cause) =>
      Effect.logWarning("The lease of this gateway could not be released and will expire").pipe(
        Effect.annotateLogs({ cause: describeCause(cause) })
      )
    )
  )
  yield* repeatInBackground({
    run: heartbeat,
    every: heartbeatInterval,
    failureMessage: "The heartbeat of this gateway failed"
  })
  return gateway
})

/** A condition on a row of `credit_hold`, as SQL text: its gateway has a fresh lease. */
export const ownerIsAlive = `EXISTS (
      SELECT 1 FROM gateway_lease
      WHERE gateway_lease.id = credit_hold.gateway_id AND heartbeat_at > now() - interval '${leaseLifetime}'
    )`
