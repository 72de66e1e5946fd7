import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"

import { failuresInARow, restartDelay } from "../../src/workers/Restarts.ts"
import { argumentsOf, slotIn } from "../../src/workers/WorkerSlot.ts"

describe("A worker that ended", () => {
  it("is started again after twice the time of the last failure, and half a minute at most", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((failures) => Duration.toMillis(restartDelay(failures)))
    assert.deepStrictEqual(delays, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it("begins a new series of failures when it has served for a minute", () => {
    assert.strictEqual(failuresInARow(0, undefined), 1)
    assert.strictEqual(failuresInARow(3, undefined), 4)
    assert.strictEqual(failuresInARow(3, 59_999), 4)
    assert.strictEqual(failuresInARow(3, 60_000), 1)
  })
})

describe("The arguments of a worker", () => {
  it.each([
    { slot: 0, count: 2, isFirst: true },
    { slot: 11, count: 12, isFirst: false }
  ])("name its slot %j", (slot) => assert.deepStrictEqual(slotIn(argumentsOf(slot)), slot))

  it("are those of no other process", () => assert.isUndefined(slotIn([])))
})
