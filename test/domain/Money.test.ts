import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"

import { fromUsd, picodollars, toUsd, toUsdNumber } from "../../src/domain/Money.ts"

const Amount = Schema.BigInt.check(
  Schema.isBetweenBigInt({ minimum: -9_000_000_000_000_000_000n, maximum: 9_000_000_000_000_000_000n })
)
const BelowThousandUsd = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 999_999_999_999_999n }))

describe("Money", () => {
  it.prop("is unchanged after being formatted and parsed as decimal USD", { amount: Amount }, ({ amount }) => {
    const money = picodollars(amount)
    assert.deepStrictEqual(fromUsd(toUsd(money)), Option.some(money))
  })

  it.prop("is exact as the number of usage.cost below a thousand USD", { amount: BelowThousandUsd }, ({ amount }) => {
    const money = picodollars(amount)
    const printed = toUsdNumber(money).toFixed(12)
    assert.deepStrictEqual(fromUsd(printed), Option.some(money))
  })

  it("is parsed from plain decimals only", () => {
    assert.deepStrictEqual(fromUsd("12.5"), Option.some(picodollars(12_500_000_000_000n)))
    assert.deepStrictEqual(fromUsd("-0.000000000001"), Option.some(picodollars(-1n)))
    for (const text of ["", "1e3", "1.", ".5", "+1", "1,000", "0.0000000000001", "NaN", " 1"]) {
      assert.isTrue(Option.isNone(fromUsd(text)), text)
    }
  })
})
