import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

import { rateLimitMessage, RateLimits } from "../../src/access/RateLimits.ts"
import type { Caller } from "../../src/domain/Caller.ts"
import { apiKeyId, environmentId, organizationId, projectId } from "../../src/domain/Ids.ts"

const callerOf = (key: string, requestsPerMinute?: number): Caller => ({
  key: apiKeyId(key),
  organization: organizationId("o"),
  project: projectId("p"),
  environment: environmentId("e"),
  endpoints: undefined,
  models: undefined,
  requestsPerMinute
})

layer(RateLimits.layerMemory({ requestsPerMinute: 6 }))("RateLimits", (it) => {
  it.effect("let a burst up to the limit pass, and further requests as the bucket refills", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const consume = limits.consume(callerOf("burst"))
      for (const remaining of [5, 4, 3, 2, 1, 0]) assert.strictEqual((yield* consume).remaining, remaining)
      yield* TestClock.adjust("4 seconds")
      const refusal = yield* Effect.flip(consume)
      assert.deepStrictEqual([refusal.limit, Duration.toMillis(refusal.retryAfter)], [6, 6_000])
      yield* TestClock.adjust("6 seconds")
      assert.deepStrictEqual(yield* consume, { limit: 6, remaining: 0, resetMillis: 60_000 })
      yield* Effect.flip(consume)
    })
  )

  it.effect("count each key separately, by its own limit if it has one", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const own = limits.consume(callerOf("own", 2))
      assert.deepStrictEqual(yield* own, { limit: 2, remaining: 1, resetMillis: 30_000 })
      yield* own
      assert.strictEqual((yield* Effect.flip(own)).limit, 2)
      assert.strictEqual((yield* limits.consume(callerOf("other"))).remaining, 5)
    })
  )

  it.effect("count the requests of all keys of an organization together, beside those of each key", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const [a, b] = ["a", "b"].map((key) => ({
        ...callerOf(key),
        organization: organizationId("shared"),
        organizationLimits: { requestsPerMinute: 4 }
      })) as [Caller, Caller]
      for (const remaining of [3, 2, 1]) assert.strictEqual((yield* limits.consume(a)).remaining, remaining)
      assert.deepStrictEqual(yield* limits.consume(b), { limit: 4, remaining: 0, resetMillis: 60_000 })
      const refusal = yield* Effect.flip(limits.consume(b))
      assert.strictEqual(
        rateLimitMessage(refusal),
        "All API keys of this organization together may make 4 requests per minute; try again in 15 seconds"
      )
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual((yield* limits.consume({ ...b, organizationLimits: {} })).remaining, 5)
    })
  )

  it.effect("count held tokens, and in the end those that were used, whether more or fewer", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const caller = { ...callerOf("tokens"), tokensPerMinute: 600 }
      const remaining = Effect.map(limits.tokenStatus(caller), (status) => status?.remaining)
      const [first, second] = [yield* limits.holdTokens(caller, 400), yield* limits.holdTokens(caller, 150)]
      assert.strictEqual(yield* remaining, 50)
      const refusal = yield* Effect.flip(limits.holdTokens(caller, 100))
      assert.deepStrictEqual([refusal.resource, Duration.toSeconds(refusal.retryAfter)], ["tokens", 5])
      assert.strictEqual(
        rateLimitMessage(refusal),
        "This API key may use 600 tokens per minute; try again in 5 seconds"
      )
      yield* first.settle(100)
      assert.strictEqual(yield* remaining, 350)
      yield* second.settle(800)
      assert.strictEqual(yield* remaining, 0)
      assert.strictEqual(Duration.toSeconds((yield* Effect.flip(limits.holdTokens(caller, 1))).retryAfter), 30.1)
    })
  )

  it.effect("count what an answer took beyond expectation also when it took longer than the bucket to fill", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const caller = { ...callerOf("slow"), tokensPerMinute: 60 }
      const held = yield* limits.holdTokens(caller, 10)
      yield* TestClock.adjust("10 minutes")
      yield* held.settle(130)
      assert.strictEqual(Duration.toSeconds((yield* Effect.flip(limits.holdTokens(caller, 1))).retryAfter), 61)
    })
  )

  it.effect("let a request through that needs more tokens than the limit when the bucket is full", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits
      const caller = { ...callerOf("large"), tokensPerMinute: 60, organizationLimits: { tokensPerMinute: 1_000 } }
      const held = yield* limits.holdTokens(caller, 500)
      assert.strictEqual((yield* limits.tokenStatus(caller))?.remaining, 0)
      yield* held.settle(500)
      assert.strictEqual(Duration.toSeconds((yield* Effect.flip(limits.holdTokens(caller, 60))).retryAfter), 500)
      yield* TestClock.adjust("500 seconds")
      yield* limits.holdTokens(caller, 60)
    })
  )
})
