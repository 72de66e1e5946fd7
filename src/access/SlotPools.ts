/**
 * The limits of concurrent requests that this gateway knows, and the admission of requests that need a slot of several.
 * The rule: a claim has a slot of each of its pools or of none, and gives them back exactly once.
 */
import { Effect } from "effect"

import { type SlotClaim, SlotPool } from "./SlotPool.ts"

/** Why a claim failed: this pool has no slot, or the database could not be asked. */
export type SlotRefusal = SlotPool | "unavailable"

export const newClaim = (): SlotClaim => ({ pools: [], sinceMillis: 0, state: "new", resume: () => {} })

/** Whose slots a request needs, and how many there are. */
export interface SlotLimit {
  readonly subject: string
  readonly limit: number
}

export class SlotPools {
  /** Whether the database does not answer. */
  isDown = false
  private readonly pools = new Map<string, SlotPool>()
  private enqueue: ((pool: SlotPool) => void) | undefined

  /** The pools to come are shared with other gateways: `enqueue` has one asked. */
  share(enqueue: (pool: SlotPool) => void): void {
    this.enqueue = enqueue
  }

  private of({ limit, subject }: SlotLimit, nowMillis: number): SlotPool {
    const known = this.pools.get(subject)
    if (known !== undefined) {
      known.limit = limit
      return known
    }
    const pool = new SlotPool(subject, limit, this.enqueue === undefined, nowMillis)
    this.pools.set(subject, pool)
    return pool
  }

  get all(): ReadonlyArray<SlotPool> {
    return [...this.pools.values()]
  }

  /** Has the pool asked, unless that is under way. */
  ask(pool: SlotPool): void {
    if (pool.isAsked) return
    pool.isAsked = true
    this.enqueue?.(pool)
  }

  /** Has those asked that keep slots, which makes their lease longer, and forgets those that nobody uses. */
  askForActive(nowMillis: number): void {
    for (const pool of this.all) {
      if (pool.isActive) this.ask(pool)
      else if (pool.canBeForgotten(nowMillis)) this.pools.delete(pool.subject)
    }
  }

  /** Takes a slot of each limit, or fails. Waits only where this gateway has none and others may have one. */
  admit(claim: SlotClaim, limits: ReadonlyArray<SlotLimit>, nowMillis: number): Effect.Effect<void, SlotRefusal> {
    claim.pools = limits.map((limit) => this.of(limit, nowMillis))
    claim.sinceMillis = nowMillis
    const full = claim.pools.find((pool) => pool.isFull(nowMillis))
    if (full !== undefined) return Effect.fail(full)
    if (this.lacking(claim, nowMillis) === undefined) {
      this.take(claim, nowMillis)
      return Effect.void
    }
    if (this.isDown) return Effect.fail("unavailable")
    return Effect.callback((resume) => {
      claim.resume = (refusal) => resume(refusal === undefined ? Effect.void : Effect.fail(refusal))
      this.wait(claim, nowMillis)
      return Effect.sync(() => this.leave(claim))
    })
  }

  /** The request has ended, was refused, or waits no longer. Called again it does nothing. */
  end(claim: SlotClaim, nowMillis: number): void {
    const wasHeld = claim.state === "held"
    this.leave(claim)
    claim.state = "ended"
    if (!wasHeld) return
    for (const pool of claim.pools) pool.release(nowMillis)
    for (const pool of claim.pools) {
      this.wake(pool, nowMillis)
      if (pool.hasSurplus(nowMillis)) this.ask(pool)
      if (this.enqueue === undefined && pool.canBeForgotten(nowMillis)) this.pools.delete(pool.subject)
    }
  }

  /** Admits what waits for this pool, as far as there are slots, and refuses what has waited for too long. */
  wake(pool: SlotPool, nowMillis: number): void {
    for (const claim of pool.waiters) {
      const lacking = this.lacking(claim, nowMillis)
      if (lacking === undefined) {
        this.leave(claim)
        this.take(claim, nowMillis)
        claim.resume()
      } else if (nowMillis - claim.sinceMillis >= lacking.waitMillis) {
        this.leave(claim)
        claim.resume(lacking)
      } else this.wait(claim, nowMillis)
    }
  }

  refuseAll(): void {
    for (const pool of this.all) {
      for (const claim of pool.waiters) {
        this.leave(claim)
        claim.resume("unavailable")
      }
    }
  }

  private lacking(claim: SlotClaim, nowMillis: number): SlotPool | undefined {
    return claim.pools.find((pool) => !pool.hasFree(nowMillis))
  }

  private take(claim: SlotClaim, nowMillis: number): void {
    claim.state = "held"
    for (const pool of claim.pools) {
      pool.take(nowMillis)
      if (pool.runsLow(nowMillis)) this.ask(pool)
    }
  }

  /** Waits for each pool that has no slot. One for which it waits already keeps its place in the order. */
  private wait(claim: SlotClaim, nowMillis: number): void {
    claim.state = "waiting"
    for (const pool of claim.pools) {
      if (pool.hasFree(nowMillis) || pool.waiters.has(claim)) continue
      pool.waiters.add(claim)
      this.ask(pool)
    }
  }

  private leave(claim: SlotClaim): void {
    for (const pool of claim.pools) pool.waiters.delete(claim)
  }
}
