import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"

import { makeRequestIds } from "../../../src/http/edge/RequestIds.ts"

const idsOf = (next: () => string, count: number): ReadonlyArray<string> => Array.from({ length: count }, next)

const timeOf = (id: string): number => Number.parseInt(id.slice(0, 13).replace("-", ""), 16)

describe("the ids of requests", () => {
  it.effect("are UUIDs of version 7 with the time, and never the same", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(1_790_000_000_123)
      const ids = idsOf(yield* makeRequestIds, 10_000)
      const uuid = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
      assert.deepStrictEqual(
        ids.filter((id) => !uuid.test(id)),
        []
      )
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.strictEqual(timeOf(ids[0] ?? ""), 1_790_000_000_123)
    }).pipe(Effect.provide(SecureRandom.layerWebCrypto))
  )

  it.effect("are in the order in which they were made, while the clock stands still and after it went on", () =>
    Effect.gen(function* () {
      const next = yield* makeRequestIds
      const ids = [...idsOf(next, 9_000)]
      yield* TestClock.adjust(1)
      ids.push(...idsOf(next, 9_000))
      yield* TestClock.adjust(60_000)
      ids.push(...idsOf(next, 10))
      assert.deepStrictEqual(ids, ids.toSorted())
      assert.strictEqual(timeOf(ids.at(-1) ?? ""), 60_001)
    }).pipe(Effect.provide(SecureRandom.layerWebCrypto))
  )

  it.effect("have random bits that differ from one draw to the next", () =>
    Effect.gen(function* () {
      const ids = idsOf(yield* makeRequestIds, 5_000)
      assert.strictEqual(new Set(ids.map((id) => id.slice(24))).size, ids.length)
    }).pipe(Effect.provide(SecureRandom.layerWebCrypto))
  )
})
