import { assert, describe, it } from "@effect/vitest"

import { dice } from "../../../tools/router-training/Dice.ts"
import { optionsAnew, perturbed, typos, withExamples, wrapped } from "../../../tools/router-training/Perturb.ts"
import { heldOutWrappers, trainingWrappers } from "../../../tools/router-training/Wrappers.ts"

const question = "Which gas do plants take in?\nA. Oxygen\nB. Carbon dioxide\nC) Helium\nSay why."

describe("Perturb", () => {
  it("types about as many letters wrongly as it is told", () => {
    const text = "the quick brown fox jumps over the lazy dog ".repeat(200)
    assert.strictEqual(typos(text, 0, dice(1)), text)
    const words = typos(text, 0.02, dice(1)).split(" ")
    const right = words.filter((word) => text.includes(` ${word} `)).length
    assert.isTrue(right / words.length > 0.85 && right / words.length < 0.97)
  })

  it("gives all options the same mark and leaves what they say", () => {
    const lines = optionsAnew(question, dice(3)).split("\n")
    const marks = lines.slice(1, 4).map((line) => line.replace(/[ABC]/, "?").replace(/(Oxygen|Carbon.*|Helium)$/, ""))
    assert.strictEqual(new Set(marks).size, 1)
    assert.isTrue(lines[2]?.endsWith("Carbon dioxide"))
    assert.deepStrictEqual([lines[0], lines[4]], ["Which gas do plants take in?", "Say why."])
  })

  it("keeps what is asked within a wrapper, and repeats itself for the same dice", () => {
    for (let seed = 0; seed < 50; seed++) assert.include(wrapped(question, trainingWrappers, dice(seed)), question)
    assert.strictEqual(perturbed(question, trainingWrappers, dice(7)), perturbed(question, trainingWrappers, dice(7)))
  })

  it("puts examples with answers ahead of what is asked, letters for those with options", () => {
    for (let seed = 0; seed < 20; seed++) {
      const text = withExamples("Is it warm?", [question, "Is it wet?"], dice(seed))
      assert.match(text, /^Which gas[^]+Say why\.\n(Answer:|A:|) [A-D]\n\nIs it wet\?\n[^]*\n\nIs it warm\?\n/)
    }
  })

  it("evaluates with wrappers that training has not seen", () => {
    const of = (wrappers: typeof trainingWrappers) => [...wrappers.greets, ...wrappers.asks, ...wrappers.ends]
    const seen = new Set(of(trainingWrappers))
    assert.deepStrictEqual(
      of(heldOutWrappers).filter((text) => seen.has(text)),
      []
    )
  })
})
