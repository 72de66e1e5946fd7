import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Logger, References } from "effect"
import { TestClock } from "effect/testing"

import { Failure, transient } from "../../../src/domain/Failure.ts"
import { endpointId } from "../../../src/domain/Ids.ts"
import { CircuitBreakers } from "../../../src/providers/dispatch/CircuitBreakers.ts"

const endpoint = endpointId("a")

/** Makes a call with this outcome, unless the breaker rejects it. */
const call = (failure?: Failure) =>
  Effect.flatMap(CircuitBreakers, (breakers) =>
    breakers.guard(endpoint, failure === undefined ? Effect.void : Effect.fail(failure))
  )

const fail = (failure: Failure) => Effect.ignore(call(failure))

/** The time until the breaker lets a call through, or `undefined` when it just did. The call counts for nothing. */
const opensIn = call(new Failure({ reason: { _tag: "Invalid" }, message: "bad request" })).pipe(
  Effect.flip,
  Effect.map((error) => (error._tag === "CircuitOpen" ? Duration.toSeconds(error.retryAfter) : undefined))
)

const outage = transient("server", "down")
const rateLimit = (seconds: number) =>
  transient("rate_limited", "busy", { retryAfter: Duration.fromInputUnsafe(`${seconds} seconds`) })
const refusedAccount = new Failure({ reason: { _tag: "Credentials" }, message: "no" })

describe("CircuitBreakers", () => {
  it.effect("open when half of at least five calls failed", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(call(), { times: 4 })
      yield* Effect.repeat(fail(outage), { times: 3 })
      assert.isUndefined(yield* opensIn)
      yield* fail(outage)
      assert.strictEqual(yield* opensIn, 5)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("count the last ten calls, however many have succeeded before", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(call(), { times: 99 })
      yield* Effect.repeat(fail(outage), { times: 3 })
      yield* call()
      assert.isUndefined(yield* opensIn)
      yield* fail(outage)
      assert.strictEqual(yield* opensIn, 5)
      yield* TestClock.adjust("5 seconds")
      yield* call()
      yield* TestClock.adjust("5 seconds")
      yield* Effect.repeat(call(), { times: 99 })
      yield* Effect.repeat(fail(outage), { times: 3 })
      assert.isUndefined(yield* opensIn)
      yield* fail(outage)
      assert.strictEqual(yield* opensIn, 5)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("are logged when they open and when they close", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make(({ fiber, logLevel, message }) =>
        lines.push([logLevel, String(message), fiber.getRef(References.CurrentLogAnnotations)])
      )
      yield* Effect.gen(function* () {
        yield* Effect.repeat(fail(outage), { times: 9 })
        yield* TestClock.adjust("5 seconds")
        yield* call()
        yield* call()
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(lines, [
        ["Warn", "A circuit breaker opened", { endpoint, openMillis: 5_000, openings: 1 }],
        ["Info", "A circuit breaker closed", { endpoint }]
      ])
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("stay open twice as long after each probe that fails, up to a minute", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(fail(outage), { times: 4 })
      for (const seconds of [5, 10, 20, 40, 60, 60]) {
        assert.strictEqual(yield* opensIn, seconds)
        yield* TestClock.adjust(Duration.seconds(seconds))
        yield* fail(outage)
      }
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("open at once for as long as a rate limit asks, within limits", () =>
    Effect.gen(function* () {
      for (const [asked, given] of [
        [30, 30],
        [0.2, 1],
        [86_400, 900]
      ] as const) {
        yield* fail(rateLimit(asked))
        assert.strictEqual(yield* opensIn, given)
        yield* TestClock.adjust(Duration.seconds(given))
        yield* call()
      }
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("open for five minutes when our account is refused, and probe more often after that", () =>
    Effect.gen(function* () {
      yield* fail(refusedAccount)
      assert.strictEqual(yield* opensIn, 300)
      yield* TestClock.adjust("5 minutes")
      yield* fail(refusedAccount)
      assert.strictEqual(yield* opensIn, 10)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("stay open for the whole wait when the probe fails with a rate limit", () =>
    Effect.gen(function* () {
      yield* fail(rateLimit(1))
      yield* TestClock.adjust("1 second")
      yield* fail(rateLimit(60))
      assert.strictEqual(yield* opensIn, 60)
      yield* TestClock.adjust("60 seconds")
      yield* fail(rateLimit(3))
      assert.strictEqual(yield* opensIn, 3)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("stay open for the whole wait when the rate limit comes with the failure that opens them anyway", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(fail(outage), { times: 3 })
      yield* fail(rateLimit(60))
      assert.strictEqual(yield* opensIn, 60)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("keep the wait of a rate limit whose call began before they opened, also after a success", () =>
    Effect.gen(function* () {
      const breakers = yield* CircuitBreakers
      const late = (seconds: number, end: Effect.Effect<void, Failure>) =>
        Effect.forkChild(Effect.ignore(breakers.guard(endpoint, Effect.delay(end, Duration.seconds(seconds)))), {
          startImmediately: true
        })
      yield* late(2, Effect.fail(rateLimit(60)))
      yield* late(3, Effect.void)
      yield* fail(rateLimit(1))
      yield* TestClock.adjust("3 seconds")
      const error = yield* Effect.flip(call())
      assert.deepInclude(error, { _tag: "CircuitOpen", isRateLimit: true, retryAfter: Duration.seconds(59) })
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("wait longer after each probe that fails with another hint", () =>
    Effect.gen(function* () {
      const outageFor = (seconds: number) => transient("server", "down", { retryAfter: Duration.seconds(seconds) })
      yield* fail(outageFor(1))
      assert.strictEqual(yield* opensIn, 1)
      yield* TestClock.adjust("1 second")
      yield* fail(outageFor(1))
      assert.strictEqual(yield* opensIn, 10)
      yield* TestClock.adjust("10 seconds")
      yield* fail(outageFor(120))
      assert.strictEqual(yield* opensIn, 120)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("let a single probe through, and are closed after its success", () =>
    Effect.gen(function* () {
      const breakers = yield* CircuitBreakers
      yield* fail(rateLimit(1))
      yield* TestClock.adjust("1 second")
      const probe = yield* Effect.forkChild(breakers.guard(endpoint, Effect.sleep("2 seconds")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* opensIn, 0)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(probe)
      assert.isUndefined(yield* opensIn)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("give the probe to the next call when a client leaves during one", () =>
    Effect.gen(function* () {
      const breakers = yield* CircuitBreakers
      yield* fail(rateLimit(1))
      yield* TestClock.adjust("1 second")
      const probe = yield* Effect.forkChild(breakers.guard(endpoint, Effect.never), { startImmediately: true })
      assert.strictEqual(yield* opensIn, 0)
      yield* Fiber.interrupt(probe)
      assert.isUndefined(yield* opensIn)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("know why an endpoint is left alone, for how much longer, and since when it refuses the account", () =>
    Effect.gen(function* () {
      const { health } = yield* CircuitBreakers
      assert.deepStrictEqual(health(endpoint), { breaker: "closed", retryAfterMillis: 0, isRateLimited: false })
      yield* TestClock.adjust("1 second")
      yield* fail(rateLimit(30))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(health(endpoint), {
        breaker: "open",
        retryAfterMillis: 20_000,
        isRateLimited: true,
        lastFailure: { class: "rate_limited", status: undefined, atMillis: 1_000 }
      })
      yield* TestClock.adjust("20 seconds")
      assert.deepInclude(health(endpoint), { breaker: "half_open", retryAfterMillis: 0, isRateLimited: false })
      yield* fail(refusedAccount)
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude(health(endpoint), { refusedSinceMillis: 31_000 })
      yield* fail(refusedAccount)
      assert.deepInclude(health(endpoint), { refusedSinceMillis: 31_000 })
      yield* TestClock.adjust("5 minutes")
      yield* call()
      const { breaker, lastAnswerMillis, refusedSinceMillis } = health(endpoint)
      assert.deepStrictEqual([breaker, lastAnswerMillis, refusedSinceMillis], ["closed", 341_000, undefined])
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )

  it.effect("do not hold against an endpoint what the client did", () =>
    Effect.gen(function* () {
      const { health } = yield* CircuitBreakers
      yield* fail(new Failure({ reason: { _tag: "Invalid" }, message: "bad request" }))
      assert.isUndefined(health(endpoint).lastFailure)
    }).pipe(Effect.provide(CircuitBreakers.layer))
  )
})
