import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"

import { repeatInBackground } from "../../src/observability/BackgroundTask.ts"

describe("BackgroundTask", () => {
  for (const startAtOnce of [false, true]) {
    it.effect(`first runs ${startAtOnce ? "at once" : "after one interval"}, then at every interval`, () =>
      Effect.gen(function* () {
        let runs = 0
        const run = Effect.sync(() => runs++)
        yield* repeatInBackground({ run, every: "10 seconds", startAtOnce, failureMessage: "failed" })
        yield* TestClock.adjust(0)
        assert.strictEqual(runs, startAtOnce ? 1 : 0)
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(runs, startAtOnce ? 4 : 3)
      })
    )
  }

  it.effect("logs runs that fail or die, and goes on", () =>
    Effect.gen(function* () {
      const messages: Array<unknown> = []
      const logger = Logger.make(({ message }) => messages.push(message))
      let runs = 0
      const run = Effect.suspend(() => (runs++ % 2 === 0 ? Effect.fail("no answer") : Effect.die("defect")))
      yield* repeatInBackground({ run, every: "1 second", failureMessage: "The task failed" }).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(runs, 4)
      assert.deepStrictEqual(messages.flat().filter((part) => part === "The task failed").length, 4)
    })
  )

  it.effect("ends without a log line when its scope closes", () =>
    Effect.gen(function* () {
      const messages: Array<unknown> = []
      const logger = Logger.make(({ message }) => messages.push(message))
      const scope = yield* Scope.make()
      yield* repeatInBackground({ run: Effect.never, every: "1 second", failureMessage: "failed" }).pipe(
        Effect.provide(Logger.layer([logger])),
        Scope.provide(scope)
      )
      yield* TestClock.adjust("1 second")
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(messages, [])
    })
  )
})
