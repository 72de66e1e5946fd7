import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

import { countOperations, type OperationCount, recordedCounts } from "./OperationCounts.ts"

const Counts = Schema.Record(
  Schema.String,
  Schema.Struct({ operations: Schema.Finite, fibers: Schema.Finite, suspensions: Schema.Finite })
)

const recorded = Schema.decodeSync(Schema.fromJsonString(Counts))(readFileSync(recordedCounts, "utf8"))

/** Growth that is noticed. */
const mostGrowth = 1.1

/** Whether the fibers of a stream have to wait for each other depends on time: their suspensions are not compared. */
const figuresOf = (kind: string): ReadonlyArray<keyof OperationCount> =>
  /stream|chunks/.test(kind) ? ["operations", "fibers"] : ["operations", "fibers", "suspensions"]

const grown = (kind: string, before: OperationCount, now: OperationCount): ReadonlyArray<string> =>
  figuresOf(kind)
    .filter((figure) => now[figure] > Math.floor(before[figure] * mostGrowth))
    .map((figure) => `${kind}: ${now[figure]} ${figure} instead of ${before[figure]}`)

describe("the cost of a request inside Effect", () => {
  it.live("has not grown by more than a tenth over what is recorded in operations.json", () =>
    Effect.gen(function* () {
      const { totals } = yield* Effect.promise(countOperations)
      assert.sameMembers(Object.keys(totals), Object.keys(recorded))
      assert.deepStrictEqual(
        Object.entries(totals).flatMap(([kind, now]) => grown(kind, recorded[kind] ?? now, now)),
        [],
        "UPDATE_OPERATIONS=1 npm run bench -- operations records new figures"
      )
    })
  )
})
