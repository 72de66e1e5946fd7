import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

import { type Deadlines, makeDeadlines } from "../../src/timing/Deadlines.ts"

/** A deadline in so many milliseconds, and how often it has expired. */
const deadlineIn = (deadlines: Deadlines, millis: number) => {
  const deadline = {
    expiresAtMillis: deadlines.nowMillis() + millis,
    times: 0,
    expire: () => void deadline.times++
  }
  deadlines.watch(deadline)
  return deadline
}

describe("Deadlines", () => {
  it.effect("expire each once, and never early", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      const [late, early] = [deadlineIn(deadlines, 600_000), deadlineIn(deadlines, 120_000)]
      yield* TestClock.adjust("119 seconds")
      assert.deepStrictEqual([early.times, late.times], [0, 0])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual([early.times, late.times], [1, 0])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([early.times, late.times], [1, 1])
    }).pipe(Effect.scoped)
  )

  it.effect("can be made later without a word, and earlier with one", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      const deadline = deadlineIn(deadlines, 1_000)
      deadline.expiresAtMillis += 60_000
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(deadline.times, 0)
      deadline.expiresAtMillis = deadlines.nowMillis() + 2_000
      deadlines.watch(deadline)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(deadline.times, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("are forgotten with their calls, and watched again with the next ones", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      const ended = deadlineIn(deadlines, 1_000)
      deadlines.forget(ended)
      yield* TestClock.adjust("10 seconds")
      const next = deadlineIn(deadlines, 1_000)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([ended.times, next.times], [0, 1])
    }).pipe(Effect.scoped)
  )
})
