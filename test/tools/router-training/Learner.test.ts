import { assert, describe, it } from "@effect/vitest"

import { textRequest } from "../../../src/domain/Conversation.ts"
import { lengthScale } from "../../../src/routing/TextFeatures.ts"
import { trainedDemand, typicalGain } from "../../../src/routing/TrainedDemand.ts"
import { exampleOf, learnDifficulty, makeLearner, quantise, skillsOf } from "../../../tools/router-training/Learner.ts"

describe("Learner", () => {
  it("learns a difficulty that the router then predicts, for short texts and for long ones", () => {
    const gains = [
      ["aldebaran", typicalGain + 0.03],
      ["sirius vega rigel ".repeat(200), typicalGain - 0.03],
      ["betelgeuse antares ".repeat(20), typicalGain + 0.02]
    ] as const
    const learner = makeLearner(typicalGain)
    const alphas = gains.map(() => 0)
    for (let pass = 0; pass < 300; pass++) {
      gains.forEach(([text, target], at) => {
        const example = exampleOf(text)
        const step = { example, skills: skillsOf(learner, example), target, weight: 1, dataset: undefined, ridge: 0.01 }
        alphas[at] = (alphas[at] ?? 0) + learnDifficulty(learner, step, alphas[at] ?? 0)
      })
    }
    const model = trainedDemand(quantise(learner, "test"))
    for (const [text, gain] of gains) {
      const { difficulty } = model.predict(textRequest(text))
      assert.approximately(difficulty, 1 / (1 + Math.exp(-16 * (gain - typicalGain))), 0.02)
    }
  })

  it("lets words count more in longer texts, within bounds", () => {
    const [line, page, book] = [50, 1_000, 1e9].map(lengthScale)
    assert.strictEqual(line, 0.6)
    assert.approximately(page ?? 0, Math.SQRT2, 1e-9)
    assert.approximately(book ?? 0, 2, 1e-3)
  })
})
