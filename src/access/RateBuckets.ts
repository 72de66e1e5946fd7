/**
 * The token buckets that this gateway knows, and the admission of requests that need tokens of several. The rule: a
 * request takes from all of its buckets or from none.
 */
import { Effect } from "effect"

import {
  type BucketOwner,
  type Isolation,
  type LimitedResource,
  RateBucket,
  unitsPerToken,
  type Waiter
} from "./RateBucket.ts"

/** How often a request waits for a lease before it is refused. Others may have taken what it waited for. */
const maxWaits = 3

/** Tokens that a request takes from a bucket. */
export interface Take {
  readonly bucket: RateBucket
  readonly units: number
}

/** Takes these tokens of one bucket. */
export const takeOf = (bucket: RateBucket, tokens: number): Take => ({ bucket, units: tokens * unitsPerToken })

export class RateBuckets {
  readonly isolation: Isolation = { isAlone: true }
  private readonly buckets: { readonly [R in LimitedResource]: Map<string, RateBucket> } = {
    requests: new Map(),
    tokens: new Map()
  }
  private enqueue: (bucket: RateBucket) => void = () => {}

  /** From now on the buckets are shared: `enqueue` has a bucket asked. */
  share(enqueue: (bucket: RateBucket) => void): void {
    this.enqueue = enqueue
    this.isolation.isAlone = false
  }

  /** The bucket of this owner, with this limit of tokens per minute. A new one is full as far as is known. */
  of({ resource, subject }: BucketOwner, limit: number, nowMillis: number): RateBucket {
    const buckets = this.buckets[resource]
    const known = buckets.get(subject)
    if (known !== undefined) {
      known.limit = limit
      return known
    }
    const bucket = new RateBucket({ resource, subject }, limit, this.isolation, nowMillis)
    buckets.set(subject, bucket)
    return bucket
  }

  get all(): ReadonlyArray<RateBucket> {
    return [...this.buckets.requests.values(), ...this.buckets.tokens.values()]
  }

  /** Has the shared bucket asked, unless that is under way. */
  ask(bucket: RateBucket): void {
    if (bucket.isAsked) return
    bucket.isAsked = true
    this.enqueue(bucket)
  }

  /** Has those asked that have something to give back or that refused a request, and forgets those that are full. */
  askForStale(nowMillis: number): void {
    for (const bucket of this.all) if (bucket.isStale(nowMillis)) this.ask(bucket)
    this.forgetFull(nowMillis)
  }

  forgetFull(nowMillis: number): void {
    for (const bucket of this.all) {
      if (bucket.canBeForgotten(nowMillis)) this.buckets[bucket.owner.resource].delete(bucket.owner.subject)
    }
  }

  wakeAll(nowMillis: number): void {
    for (const bucket of this.all) bucket.wake(nowMillis)
  }

  /**
   * Takes from all of these buckets. Fails with the bucket that is empty. Waits for a lease only where this gateway has
   * too few tokens and the shared bucket may have more.
   */
  admit(takes: ReadonlyArray<Take>, nowMillis: number): Effect.Effect<void, RateBucket> {
    const empty = this.attempt(takes, nowMillis)
    if (empty === undefined) return Effect.void
    return empty === "unknown" ? this.admitLater(takes, nowMillis) : Effect.fail(empty)
  }

  private admitLater(takes: ReadonlyArray<Take>, nowMillis: number): Effect.Effect<void, RateBucket> {
    return Effect.callback((resume) => {
      let waits = 0
      const stop = () => {
        for (const { bucket } of takes) bucket.leave(waiter)
      }
      const waiter: Waiter = (now) => {
        stop()
        const empty = this.attempt(takes, now)
        if (empty === undefined) return resume(Effect.void)
        if (empty !== "unknown") return resume(Effect.fail(empty))
        const lacking = takes.find(({ bucket, units }) => bucket.check(units, now) === "unknown")
        if (lacking !== undefined && waits === maxWaits) return resume(Effect.fail(lacking.bucket))
        wait(now)
      }
      const wait = (now: number) => {
        waits++
        for (const { bucket, units } of takes) {
          if (bucket.check(units, now) !== "unknown") continue
          bucket.wait(waiter, units, now)
          this.ask(bucket)
        }
      }
      wait(nowMillis)
      return Effect.sync(stop)
    })
  }

  /** `undefined` if everything was taken, otherwise why nothing was. */
  private attempt(takes: ReadonlyArray<Take>, nowMillis: number): RateBucket | "unknown" | undefined {
    let isUnknown = false
    for (const { bucket, units } of takes) {
      const state = bucket.check(units, nowMillis)
      if (state === "empty") {
        bucket.refuse(nowMillis)
        return bucket
      }
      isUnknown ||= state === "unknown"
    }
    if (isUnknown) return "unknown"
    for (const { bucket, units } of takes) {
      bucket.take(units, nowMillis)
      if (bucket.runsLow(nowMillis)) this.ask(bucket)
    }
    return undefined
  }
}
