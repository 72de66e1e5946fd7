import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, FileSystem } from "effect"

import { textRequest } from "../../../src/domain/Conversation.ts"
import { trainedDemand } from "../../../src/routing/TrainedDemand.ts"
import { encodeWeights } from "../../../src/routing/Weights.ts"
import { mayTrainOn, type Row } from "../../../tools/router-training/Rows.ts"
import { train } from "../../../tools/router-training/Training.ts"

/** Names of stars stand for topics, so that only this training data can connect them with labels. */
const rows: ReadonlyArray<Row> = Array.from({ length: 400 }, (_, index) => {
  const hard = index % 2 === 0
  return {
    id: `row/${index}`,
    source: "made-up",
    labels: [hard ? "extraction" : "reading"],
    prompt: `${hard ? "aldebaran betelgeuse" : "sirius vega"} ${index}`,
    strong: 1,
    weak: hard ? 0 : 1
  }
})

const trainOn = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
  const files = yield* FileSystem.FileSystem
  const directory = yield* files.makeTempDirectoryScoped()
  yield* files.writeFileString(`${directory}/rows.jsonl`, lines.join("\n"))
  return yield* train({
    directories: [directory],
    seed: 7,
    skillPasses: 2,
    difficultyPasses: 2,
    heldOut: ({ prompt }) => prompt.endsWith("7")
  })
})

const lines = rows.map((row) => JSON.stringify(row))

describe("Training", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("learns which skills words demand and which prompts gain from a strong model", () =>
      Effect.gen(function* () {
        const model = trainedDemand(yield* trainOn(lines))
        const [table, text] = ["aldebaran betelgeuse 9", "sirius vega 9"].map((prompt) =>
          model.predict(textRequest(prompt))
        )
        assert.isAbove(table?.levels.extraction ?? 0, table?.levels.reading ?? 1)
        assert.isAbove(text?.levels.reading ?? 0, text?.levels.extraction ?? 1)
        assert.isAbove(table?.difficulty ?? 0, (text?.difficulty ?? 1) + 0.2)
      })
    )

    it.effect("learns differences within a data set, and not how difficult the whole data set is", () =>
      Effect.gen(function* () {
        // Texts with this word gain much in chat. All texts of the data set have it, so there only other words count.
        const chat = Array.from({ length: 200 }, (_, index) => ({ category: "math", prompt: `umbriel ${index}` }))
        const graded = Array.from({ length: 400 }, (_, index) => {
          const hard = index % 2 === 0
          return { prompt: `umbriel ${hard ? "aldebaran" : "vega"} ${index}`, strong: 1, weak: hard ? 0.4 : 0.6 }
        })
        const model = trainedDemand(yield* trainOn([...chat, ...graded].map((row) => JSON.stringify(row))))
        const [plain, hard, easy] = ["umbriel 9", "umbriel aldebaran 9", "umbriel vega 9"].map(
          (prompt) => model.predict(textRequest(prompt)).difficulty
        )
        assert.isAbove(plain ?? 0, 0.88)
        assert.isAbove(hard ?? 0, (easy ?? 1) + 0.05)
      })
    )

    it.effect("does not take a category of chat for frequent because the data has many prompts of it", () =>
      Effect.gen(function* () {
        const chat = Array.from({ length: 500 }, (_, index) => ({
          category: index < 100 ? "creative" : "extraction",
          prompt: `umbriel ${index}`
        }))
        const model = trainedDemand(yield* trainOn(chat.map((row) => JSON.stringify(row))))
        const { levels } = model.predict(textRequest("umbriel 9"))
        assert.isAbove(levels.creative, levels.extraction)
      })
    )

    it.effect("learns the difficulty of chat from category and grade", () =>
      Effect.gen(function* () {
        const chat = ["umbriel", "titania", "oberon"].flatMap((word, at) =>
          Array.from({ length: 100 }, (_, index) =>
            JSON.stringify({
              category: at === 0 ? "creative" : "math",
              grade: at === 2 ? 5 : 1,
              prompt: `${word} ${index}`
            })
          )
        )
        const model = trainedDemand(yield* trainOn(chat))
        const [story, sum, proof] = ["umbriel 9", "titania 9", "oberon 9"].map((word) =>
          model.predict(textRequest(word))
        )
        assert.isAbove(story?.levels.creative ?? 0, story?.levels.math ?? 1)
        assert.isAbove(sum?.difficulty ?? 0, (story?.difficulty ?? 1) + 0.1)
        // Both are near the top of the range, where differences are small.
        assert.isAbove(proof?.difficulty ?? 0, (sum?.difficulty ?? 1) + 0.03)
      })
    )

    it.effect("gives exactly the same weights for the same data and seed", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* trainOn(lines.slice(0, 60)), yield* trainOn(lines.slice(0, 60))]
        assert.isTrue(Buffer.from(encodeWeights(one)).equals(Buffer.from(encodeWeights(other))))
      })
    )

    it.effect("stops at a row that it cannot decode, and reports it", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(trainOn([...lines.slice(0, 3), '{"promt":"x"}']))
        assert.isTrue(Exit.isFailure(exit) && /rows\.jsonl: .*prompt/s.test(String(exit.cause)))
      })
    )

    it.effect("leaves out rows whose licence forbids commercial use or is stated as none", () =>
      Effect.sync(() => {
        const licences = ["MIT", "CC-BY-NC-4.0 (data)", "no licence in repo", "none stated", "Apache-2.0", undefined]
        const taken = licences.filter((licence) =>
          mayTrainOn({ prompt: "", ...(licence !== undefined && { licence }) })
        )
        assert.deepStrictEqual(taken, ["MIT", "Apache-2.0", undefined])
      })
    )
  })
})
