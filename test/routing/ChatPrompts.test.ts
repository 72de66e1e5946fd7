/**
 * The shipped weights on chat prompts that were written to measure them and were never trained on: `chat/*.jsonl`, each
 * with its category and a grade from 1 (any model answers it well) to 5 (only the best models do).
 */
import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { axes } from "../../src/catalog/Model.ts"
import { trainedDemand } from "../../src/routing/TrainedDemand.ts"
import { readWeights, shippedWeights } from "../../src/routing/Weights.ts"
import { areaUnderCurve } from "../../tools/router-training/Metrics.ts"
import { requestOf } from "./TestModels.ts"

const Row = Schema.fromJsonString(
  Schema.Struct({ lang: Schema.String, category: Schema.String, grade: Schema.Int, prompt: Schema.String })
)

const demand = trainedDemand(Result.getOrThrow(readWeights(shippedWeights)))

const rowsOf = (file: string) =>
  readFileSync(new URL(`chat/${file}.jsonl`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const row = Schema.decodeUnknownSync(Row)(line)
      const { difficulty, levels } = demand.predict(requestOf(row.prompt))
      const [top] = axes.toSorted((a, b) => levels[b] - levels[a])
      return { ...row, difficulty, top }
    })

const rows = ["en", "zh", "other"].flatMap(rowsOf)

const shareOf = (category: string, among = rows): number => {
  const own = among.filter((row) => row.category === category)
  return own.filter(({ top }) => top === category).length / own.length
}

describe("held-out chat prompts", () => {
  for (const category of ["coding", "math", "creative"]) {
    it(`are recognised as ${category} in at least 85% of the cases, over many languages`, () => {
      assert.isAtLeast(shareOf(category), 0.85)
    })
  }

  it("are recognised in Chinese too, and not taken for questions about the language", () => {
    const chinese = rows.filter(({ lang }) => lang === "zh")
    for (const category of ["math", "creative", "knowledge"]) assert.isAtLeast(shareOf(category, chinese), 0.75)
    assert.isAtMost(chinese.filter(({ top }) => top === "multilingual").length / chinese.length, 0.1)
  })

  it("are rated harder in categories where models differ than where all models do well", () => {
    const difficulties = (...kinds: ReadonlyArray<string>) =>
      rows.filter(({ category }) => kinds.includes(category)).map(({ difficulty }) => difficulty)
    const kinds = areaUnderCurve(difficulties("math", "coding", "reasoning"), difficulties("creative", "knowledge"))
    assert.isAtLeast(kinds, 0.88)
  })

  it("are rated harder with a high grade than with a low one", () => {
    const graded = (which: (grade: number) => boolean) =>
      rows.filter(({ grade }) => which(grade)).map(({ difficulty }) => difficulty)
    assert.isAtLeast(
      areaUnderCurve(
        graded((grade) => grade > 3),
        graded((grade) => grade < 3)
      ),
      0.65
    )
  })
})
