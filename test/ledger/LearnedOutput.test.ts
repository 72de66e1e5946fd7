import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { modelId } from "../../src/domain/Ids.ts"
import { LearnedOutput, type RequestKind } from "../../src/ledger/LearnedOutput.ts"
import { newOrganization } from "./TestLedger.ts"

const kind: RequestKind = {
  organization: newOrganization(),
  model: modelId("gpt-5"),
  tier: undefined,
  isLimited: false
}

const learnedFrom = (answers: ReadonlyArray<number>): LearnedOutput => {
  const learned = new LearnedOutput()
  for (const tokens of answers) learned.observe(kind, tokens)
  return learned
}

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000 }))

describe("LearnedOutput", () => {
  it("expects nothing of fewer than 50 answers, and nothing of other kinds of requests", () => {
    const learned = learnedFrom(Array.from({ length: 49 }, () => 10))
    assert.isUndefined(learned.expected(kind))
    learned.observe(kind, 10)
    assert.strictEqual(learned.expected(kind), 11)
    for (const other of [
      { organization: newOrganization() },
      { model: modelId("gpt-5-mini") },
      { tier: "none" },
      { isLimited: true }
    ] as const)
      assert.isUndefined(learned.expected({ ...kind, ...other }))
  })

  it("leaves the largest twentieth out of account", () => {
    assert.strictEqual(
      learnedFrom([...Array.from({ length: 95 }, () => 64), ...[1, 2, 3, 4, 5].fill(9_000)]).expected(kind),
      64
    )
    const sixth = learnedFrom([...Array.from({ length: 94 }, () => 64), ...[1, 2, 3, 4, 5, 6].fill(9_000)])
    assert.strictEqual(sixth.expected(kind), 9_741)
  })

  it.prop(
    "is at least the 95th percentile, and exceeds it by less than a fifth",
    { answers: Schema.Array(Tokens).check(Schema.isMinLength(50), Schema.isMaxLength(900)) },
    ({ answers }) => {
      const sorted = answers.toSorted((a, b) => a - b)
      const exact = sorted[Math.ceil(answers.length * 0.95) - 1] ?? assert.fail("no answers")
      const expected = learnedFrom(answers).expected(kind) ?? assert.fail("nothing was learned")
      assert.isTrue(expected >= exact && expected <= Math.max(1, exact * 1.2), `${expected} for ${exact}`)
    }
  )

  it("follows when answers become longer or shorter, however many there were before", () => {
    const learned = learnedFrom(Array.from({ length: 100_000 }, () => 16))
    for (let count = 0; count < 100; count++) learned.observe(kind, 4_096)
    assert.strictEqual(learned.expected(kind), 4_096)
    for (let count = 0; count < 4_000; count++) learned.observe(kind, 16)
    assert.strictEqual(learned.expected(kind), 16)
  })

  it("is no limit beyond a million tokens", () => {
    assert.strictEqual(learnedFrom(Array.from({ length: 50 }, () => 5_000_000)).expected(kind), Infinity)
  })

  it("forgets the kind that was answered least recently when there are more than 10,000", () => {
    const learned = learnedFrom(Array.from({ length: 50 }, () => 10))
    const others = Array.from({ length: 10_000 }, (_, index) => ({ ...kind, model: modelId(`model-${index}`) }))
    for (const other of others.slice(1)) learned.observe(other, 10)
    assert.strictEqual(learned.expected(kind), 11)
    for (const other of others.slice(0, 1)) learned.observe(other, 10)
    assert.isUndefined(learned.expected(kind))
  })
})
