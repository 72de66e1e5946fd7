/** The line that tells how far a long command has come. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Sink, Stdio } from "effect"

import { progress, progressLine } from "../../src/cli/Progress.ts"

/** Everything that is written to standard error while 300 and then 700 of 2000 requests are done. */
const written = Effect.fnUntraced(function* (isTerminal: boolean) {
  const pieces: Array<string> = []
  let counted = false
  const total = Effect.sync(() => {
    counted = true
    return 2_000
  })
  const stdio = Stdio.layerTest({
    stderrIsTerminal: Effect.succeed(isTerminal),
    stderr: () => Sink.forEach((piece) => Effect.sync(() => void pieces.push(String(piece))))
  })
  yield* Effect.gen(function* () {
    const advance = yield* progress("requests", total)
    yield* advance(300)
    yield* advance(700)
  }).pipe(Effect.scoped, Effect.provide(stdio))
  return { pieces, counted }
})

describe("The progress of a command", () => {
  it.effect("is drawn over itself on a terminal, and erased at the end", () =>
    Effect.gen(function* () {
      const { pieces } = yield* written(true)
      const erase = "\r\u001B[2K"
      assert.deepStrictEqual(pieces, [
        `${erase}[####                          ] 15 %  300 of 2,000 requests`,
        `${erase}[###############               ] 50 %  1,000 of 2,000 requests`,
        erase
      ])
    })
  )

  it.effect("is neither counted nor drawn where standard error is no terminal", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* written(false), { pieces: [], counted: false })
    })
  )

  it("is a count where the end is not known, and never more than the whole", () => {
    assert.strictEqual(progressLine(1_500, "requests"), "1,500 requests")
    assert.strictEqual(progressLine(0, "requests", 0), "0 requests")
    assert.include(progressLine(3, "requests", 2), "] 100 %")
  })
})
