import { assert, describe, it } from "@effect/vitest"

import {
  heldOutWrappers,
  perturbed,
  trainingWrappers,
  withExamples,
  withOtherOptionMarks,
  withTypos,
  withWrapper
} from "../../../tools/router-training/Perturbations.ts"
import { seededRandom } from "../../../tools/router-training/SeededRandom.ts"

const question = "Which gas do plants take in?\nA. Oxygen\nB. Carbon dioxide\nC) Helium\nSay why."

describe("Perturbations", () => {
  it("mistype about the given share of letters", () => {
    const text = "the quick brown fox jumps over the lazy dog ".repeat(200)
    assert.strictEqual(withTypos(text, 0, seededRandom(1)), text)
    const words = withTypos(text, 0.02, seededRandom(1)).split(" ")
    const right = words.filter((word) => text.includes(` ${word} `)).length
    assert.isTrue(right / words.length > 0.85 && right / words.length < 0.97)
  })

  it("give all options the same mark and keep their text", () => {
    const lines = withOtherOptionMarks(question, seededRandom(3)).split("\n")
    const marks = lines.slice(1, 4).map((line) => line.replace(/[ABC]/, "?").replace(/(Oxygen|Carbon.*|Helium)$/, ""))
    assert.strictEqual(new Set(marks).size, 1)
    assert.isTrue(lines[2]?.endsWith("Carbon dioxide"))
    assert.deepStrictEqual([lines[0], lines[4]], ["Which gas do plants take in?", "Say why."])
  })

  it("keep the question within a wrapper, and are the same for the same seed", () => {
    for (let seed = 0; seed < 50; seed++)
      assert.include(withWrapper(question, trainingWrappers, seededRandom(seed)), question)
    assert.strictEqual(
      perturbed(question, trainingWrappers, seededRandom(7)),
      perturbed(question, trainingWrappers, seededRandom(7))
    )
  })

  it("put examples with answers before the question, with letters as answers to multiple choice", () => {
    for (let seed = 0; seed < 20; seed++) {
      const text = withExamples("Is it warm?", [question, "Is it wet?"], seededRandom(seed))
      assert.match(text, /^Which gas[^]+Say why\.\n(Answer:|A:|) [A-D]\n\nIs it wet\?\n[^]*\n\nIs it warm\?\n/)
    }
  })

  it("have held-out wrappers that do not occur in training", () => {
    const of = (wrappers: typeof trainingWrappers) => [
      ...wrappers.greetings,
      ...wrappers.introductions,
      ...wrappers.closings
    ]
    const seen = new Set(of(trainingWrappers))
    assert.deepStrictEqual(
      of(heldOutWrappers).filter((text) => seen.has(text)),
      []
    )
  })
})
