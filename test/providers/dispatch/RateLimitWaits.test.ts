import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"

import { fold } from "../../../src/domain/Completion.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import type { Target } from "../../../src/providers/dispatch/Target.ts"
import { withManualTime } from "../../support/ManualTime.ts"
import { answers, FakeTargets, held, request, status, testLayer } from "./FakeTargets.ts"

const complete = (...targets: readonly [Target, ...Array<Target>]) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.complete({ held, request, targets }))

/** The rest of the wait in seconds, rounded up, of a request that only met rate limits. */
const waitSeconds = (...targets: readonly [Target, ...Array<Target>]) =>
  Effect.map(Effect.flip(complete(...targets)), ({ rateLimited }) =>
    rateLimited === undefined ? undefined : Math.ceil(Duration.toSeconds(rateLimited.retryAfter))
  )

const limited = (seconds: number) => status(429, { "retry-after": String(seconds) })

describe("While a rate limit says how long it lasts", () => {
  it.live("the only endpoint of a model is not called, and requests get the rest of the wait", () =>
    withManualTime(() =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const busy = fake.target("busy", limited(60))
        for (let request = 0; request < 6; request++) {
          assert.strictEqual(yield* waitSeconds(busy), 60)
        }
        assert.strictEqual(fake.calls(busy), 1)
      }).pipe(Effect.provide(testLayer()))
    )
  )

  it.live("the rest becomes less, and the endpoint is called again when it is over", () =>
    withManualTime((pass) =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const busy = fake.target("busy", limited(3), answers("free again"))
        assert.strictEqual(yield* waitSeconds(busy), 3)
        yield* pass("1200 millis")
        assert.strictEqual(yield* waitSeconds(busy), 2)
        yield* pass("1800 millis")
        assert.strictEqual(fold((yield* complete(busy)).value).content, "free again")
        assert.strictEqual(fake.calls(busy), 2)
      }).pipe(Effect.provide(testLayer()))
    )
  )

  it.live("requests get the shortest of the waits when all endpoints are limited", () =>
    withManualTime(() =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const targets = [fake.target("long", limited(60)), fake.target("short", limited(30))] as const
        assert.strictEqual(yield* waitSeconds(...targets), 30)
        assert.strictEqual(yield* waitSeconds(...targets), 30)
        assert.deepStrictEqual(targets.map(fake.calls), [1, 1])
      }).pipe(Effect.provide(testLayer()))
    )
  )

  it.live("a wait that is known counts beside a rate limit that is met now", () =>
    withManualTime(() =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const short = fake.target("short", limited(30))
        const long = fake.target("long", limited(60))
        yield* waitSeconds(short)
        assert.strictEqual(yield* waitSeconds(short, long), 30)
      }).pipe(Effect.provide(testLayer()))
    )
  )

  it.live("an endpoint that only rests after failures is called instead", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const busy = fake.target("busy", limited(60))
      const down = fake.target("down", status(500))
      yield* waitSeconds(busy)
      yield* Effect.repeat(Effect.ignore(complete(down)), { times: 4 })
      fake.target("down", answers("back"))
      const answer = yield* complete(busy, down)
      assert.strictEqual(fold(answer.value).content, "back")
      assert.strictEqual(fake.calls(busy), 1)
    }).pipe(Effect.provide(testLayer({ triesPerTarget: 1 })))
  )

  it.live("a failure of another kind is still reported as such", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const busy = fake.target("busy", limited(60))
      yield* waitSeconds(busy)
      const error = yield* Effect.flip(complete(busy, fake.target("down", status(500))))
      assert.isUndefined(error.rateLimited)
      assert.strictEqual(error.last.status, 500)
    }).pipe(Effect.provide(testLayer()))
  )
})
