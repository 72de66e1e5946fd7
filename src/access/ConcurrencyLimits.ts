/**
 * Limits how many requests of an API key or of an organization run at a time. A request occupies a slot from its
 * admission until its scope closes, which is when its answer is complete, it has failed, or its client has left.
 * Gateways on one PostgreSQL share the slots; one on the embedded engine counts in memory alone.
 */
import { Clock, Context, Data, Effect, Layer, type Scope } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"

import type { Caller } from "../domain/Caller.ts"
import { Database } from "../sql/Database.ts"
import { shareSlots } from "./SlotLeases.ts"
import { newClaim, type SlotLimit, SlotPools } from "./SlotPools.ts"

/** As many requests run as the limit allows. */
export class ConcurrencyLimited extends Data.TaggedError("ConcurrencyLimited")<{
  readonly limit: number
  readonly of: "key" | "organization"
}> {}

/** This gateway has no slot, and the database that knows of others does not answer. */
export class SlotsUnavailable extends Data.TaggedError("SlotsUnavailable") {}

export class ConcurrencyLimits extends Context.Service<
  ConcurrencyLimits,
  {
    /**
     * Occupies a slot for as long as the scope is open. Waits for the database only where this gateway has no slot at
     * hand, and for at most 2.5 seconds.
     */
    readonly occupy: (caller: Caller) => Effect.Effect<void, ConcurrencyLimited | SlotsUnavailable, Scope.Scope>
  }
>()("tollgate/access/ConcurrencyLimits") {
  /** Shares the limits with the other gateways, if there can be any. */
  static readonly layer: Layer.Layer<
    ConcurrencyLimits,
    never,
    Database | SqlClient.SqlClient | SecureRandom.SecureRandom
  > = Layer.unwrap(
    Effect.map(Database, ({ engine }) =>
      engine === "postgresql" ? ConcurrencyLimits.layerShared : ConcurrencyLimits.layerMemory
    )
  )

  static readonly layerShared = Layer.effect(
    ConcurrencyLimits,
    Effect.suspend(() => make(shareSlots))
  )

  /** Counts in this process alone. */
  static readonly layerMemory = Layer.effect(
    ConcurrencyLimits,
    Effect.suspend(() => make(() => Effect.void))
  )
}

/** Whether this caller's concurrent requests are limited. */
export const hasConcurrencyLimit = ({ concurrentRequests, organizationLimits }: Caller): boolean =>
  concurrentRequests !== undefined || organizationLimits?.concurrentRequests !== undefined

const make = Effect.fnUntraced(function* <R>(run: (pools: SlotPools) => Effect.Effect<void, never, R>) {
  const pools = new SlotPools()
  yield* run(pools)
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()

  const limitsOf = (caller: Caller): ReadonlyArray<SlotLimit> => {
    const { concurrentRequests: own, key, organization, organizationLimits } = caller
    const common = organizationLimits?.concurrentRequests
    return [
      ...(own === undefined ? [] : [{ subject: key, limit: own }]),
      ...(common === undefined ? [] : [{ subject: organization, limit: common }])
    ]
  }

  const occupy: ConcurrencyLimits["Service"]["occupy"] = (caller) =>
    Effect.suspend(() => {
      const claim = newClaim()
      // Added before anything is taken: a request that is interrupted in between gives its slots back as well.
      return Effect.andThen(
        Effect.addFinalizer(() => Effect.sync(() => pools.end(claim, now()))),
        Effect.mapError(
          Effect.suspend(() => pools.admit(claim, limitsOf(caller), now())),
          (refusal) =>
            refusal === "unavailable"
              ? new SlotsUnavailable()
              : new ConcurrencyLimited({
                  limit: refusal.limit,
                  of: refusal.subject === caller.key ? "key" : "organization"
                })
        )
      )
    })

  return ConcurrencyLimits.of({ occupy })
})

/** Names the limit and its value. */
export const concurrencyMessage = ({ limit, of }: ConcurrencyLimited): string => {
  const subject = of === "key" ? "This API key" : "All API keys of this organization together"
  const requests = limit === 1 ? "1 request" : `${limit} requests`
  return `${subject} may have ${requests} running at a time; try again when one of them has ended`
}
