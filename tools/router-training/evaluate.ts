#!/usr/bin/env node
/**
 * Evaluates the router by cross-validation: `node tools/router-training/evaluate.ts --data DIR`. Prints the tables of
 * `EVALUATION.md` as Markdown.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"

import { loadCatalog } from "../../src/catalog/Catalog.ts"
import type { Model } from "../../src/catalog/Model.ts"
import type { DemandModel } from "../../src/routing/Demand.ts"
import { trainedDemand } from "../../src/routing/TrainedDemand.ts"
import {
  emptyResults,
  evaluateFold,
  type EvaluationResults,
  latencyOf,
  pairwiseOrder,
  stabilityOf
} from "./Evaluation.ts"
import { accuraciesOf, averageGapRecovered } from "./Metrics.ts"
import { poolQualityOf } from "./ModelPool.ts"
import { defaultPasses, foldOf, train } from "./Training.ts"

const folds = 5

const command = Command.make(
  "evaluate",
  {
    data: Flag.String("data").pipe(
      Flag.withDescription("Directory to train on and, fold by fold, to evaluate on. May be given more than once."),
      Flag.atLeast(1)
    ),
    only: Flag.String("only").pipe(
      Flag.withDescription("Directory to evaluate on but never to train on. May be given more than once."),
      Flag.atLeast(0)
    ),
    seed: Flag.Int("seed").pipe(Flag.withDefault(1))
  },
  Effect.fn(function* ({ data, only, seed }) {
    const results = emptyResults()
    const catalog = yield* Effect.fromResult(loadCatalog())
    const models = [...catalog.models.values()].filter(({ kind }) => kind === "chat")
    for (let fold = 0; fold < folds; fold++) {
      const isInFold = (row: Parameters<typeof foldOf>[0]): boolean => foldOf(row, folds) === fold
      const weights = yield* train({ ...defaultPasses, directories: data, seed, heldOut: isInFold })
      const demandModel = trainedDemand(weights)
      yield* evaluateFold(results, { demandModel, directories: data, inFold: isInFold })
      if (fold > 0) continue
      // Data that is never trained on needs no folds: the weights of the first fold have not seen it.
      if (only.length > 0) yield* evaluateFold(results, { demandModel, directories: only, inFold: () => true })
      yield* printStability(models, demandModel, results.prompts)
      yield* printLatency(models, demandModel, results.prompts)
    }
    yield* printChat(results)
    yield* printPool(results)
    yield* printOutcomes(results)
  })
).pipe(Command.withDescription("Evaluates the router on rows that its weights have not seen."))

const printStability = Effect.fnUntraced(function* (
  models: ReadonlyArray<Model>,
  demandModel: DemandModel,
  prompts: ReadonlyArray<string>
) {
  const { kept, mix } = stabilityOf(models, demandModel, prompts)
  yield* Console.log(`## Stability and mix: ${prompts.length} prompts, ${models.length} models\n`)
  for (const [name, share] of kept) yield* Console.log(`- ${name}: ${percent(share)} keep their model`)
  const sorted = [...mix].sort(([, a], [, b]) => b - a)
  yield* Console.log(`- mix: ${sorted.map(([model, share]) => `${model} ${percent(share)}`).join(", ")}\n`)
})

const printLatency = Effect.fnUntraced(function* (
  models: ReadonlyArray<Model>,
  demandModel: DemandModel,
  prompts: ReadonlyArray<string>
) {
  const measure = yield* latencyOf(models, demandModel, prompts)
  yield* Console.log("## Latency of a decision\n")
  for (const characters of [200, 1_000, 4_000]) {
    const { p50Millis, p99Millis } = measure(characters)
    yield* Console.log(`- ${characters} characters: p50 ${p50Millis.toFixed(3)} ms, p99 ${p99Millis.toFixed(3)} ms`)
  }
})

const printChat = Effect.fnUntraced(function* ({ chat }: EvaluationResults) {
  yield* Console.log("\n## Chat: prompts whose own axis has the highest level, and pairs in the right order\n")
  for (const [dataset, rows] of chat) {
    const categories = new Set(rows.flatMap(({ category, correct }) => (correct === undefined ? [] : [category])))
    const counts = Array.from(categories, (category) => {
      const own = rows.filter((row) => row.category === category)
      return `${category} ${own.filter(({ correct }) => correct).length} of ${own.length}`
    })
    const order = pairwiseOrder(rows)
    yield* Console.log(`- ${shortName(dataset)}: ${counts.join(", ")}`)
    const grades = Number.isNaN(order.grades) ? "" : `, grades ${order.grades.toFixed(3)}`
    yield* Console.log(`  categories ${order.categories.toFixed(3)}${grades}`)
  }
})

const printPool = Effect.fnUntraced(function* ({ pool }: EvaluationResults) {
  if (pool.length <= 1) return
  const { oracle, router, withoutPrompt } = poolQualityOf(pool)
  const values = { "without the prompt": withoutPrompt, router, oracle }
  const texts = Object.entries(values).map(([name, value]) => `${name} ${value.toFixed(3)}`)
  yield* Console.log("\n## Quality over cost (AIQ) among all models of priced rows\n")
  yield* Console.log(`- ${pool.length} rows: ${texts.join(", ")}`)
})

const printOutcomes = Effect.fnUntraced(function* ({ outcomes, outcomesOfBestWeak }: EvaluationResults) {
  yield* Console.log("\n## Gap recovered, and mean scores with half of the prompts sent to the strong model\n")
  yield* Console.log(
    `| set | rows | APGR | one weak | weak | random | router | oracle | strong |\n${"|---".repeat(9)}|`
  )
  for (const [dataset, rows] of outcomes) {
    const { alwaysStrong, alwaysWeak, oracle, random, router } = accuraciesOf(rows)
    const oneWeak = averageGapRecovered(outcomesOfBestWeak.get(dataset) ?? [])
    const values = [averageGapRecovered(rows), oneWeak, alwaysWeak, random, router, oracle, alwaysStrong]
    const columns = values.map((value) => value.toFixed(3)).join(" | ")
    yield* Console.log(`| ${shortName(dataset)} | ${rows.length} | ${columns} |`)
  }
})

/** A data set without a name is called by its file, whose last path segments identify it. */
const shortName = (dataset: string): string => dataset.split("/").slice(-3).join("/")

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`

Command.run(command, { version: "1" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
