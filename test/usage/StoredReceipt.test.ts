import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { decode, encode, StoredReceipt } from "../../src/usage/StoredReceipt.ts"
import { receiptOf } from "./receipts.ts"

describe("StoredReceipt", () => {
  it.effect.prop(
    "reads back every receipt as it was, to the last picodollar",
    { receipt: StoredReceipt },
    ({ receipt }) =>
      Effect.gen(function* () {
        // Text is compared as it is stored: with what PostgreSQL has no room for replaced.
        const stored = JSON.parse(encode(receipt))
        assert.deepStrictEqual(JSON.parse(encode(yield* decode(stored))), stored)
        assert.strictEqual((yield* decode(stored)).cost, receipt.cost)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect("changes nothing of a receipt of plain text", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* decode(JSON.parse(encode(receiptOf(1)))), receiptOf(1))
    })
  )
})
