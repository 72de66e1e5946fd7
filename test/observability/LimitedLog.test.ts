import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { TestClock } from "effect/testing"

import { makeLimitedLog } from "../../src/observability/LimitedLog.ts"

/** Runs an effect with a log of its own, and gives the annotations of what it wrote. */
const written = Effect.fnUntraced(function* <E>(
  use: (write: (key: string) => Effect.Effect<void>) => Effect.Effect<unknown, E>
) {
  const lines: Array<unknown> = []
  let described = 0
  const logger = Logger.make(({ fiber }) => lines.push(fiber.getRef(References.CurrentLogAnnotations)))
  const log = makeLimitedLog()
  const write = (key: string) =>
    log({
      key,
      level: "Warn",
      message: "A provider failed",
      perMinute: 2,
      annotations: () => {
        described++
        return { key }
      }
    })
  yield* use(write).pipe(Effect.provide(Logger.layer([logger])))
  return { lines, described }
})

describe("LimitedLog", () => {
  it.effect("writes a storm as a few lines a minute, the first of which counts what was left out", () =>
    Effect.gen(function* () {
      const { described, lines } = yield* written((write) =>
        Effect.gen(function* () {
          yield* Effect.repeat(write("a"), { times: 999 })
          yield* TestClock.adjust("1 minute")
          yield* Effect.repeat(write("a"), { times: 2 })
          yield* TestClock.adjust("59 seconds")
          yield* write("a")
          yield* TestClock.adjust("1 second")
          yield* write("a")
        })
      )
      assert.deepStrictEqual(lines, [
        { key: "a" },
        { key: "a" },
        { key: "a", leftOut: 998 },
        { key: "a" },
        { key: "a", leftOut: 2 }
      ])
      // What is left out costs nothing but its count.
      assert.strictEqual(described, lines.length)
    })
  )

  it.effect("limits each key by itself, and remembers a bounded number of them", () =>
    Effect.gen(function* () {
      const { lines } = yield* written((write) =>
        Effect.gen(function* () {
          for (let index = 0; index < 1_001; index++) yield* write(`key ${index}`)
          yield* Effect.repeat(write("key 0"), { times: 4 })
          yield* Effect.repeat(write("key 1000"), { times: 4 })
        })
      )
      assert.lengthOf(lines, 1_001 + 2 + 1)
    })
  )
})
