import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

import { RateLimits } from "../../src/access/RateLimits.ts"
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
})
