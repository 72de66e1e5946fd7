#!/usr/bin/env node
/** Measures the router by cross-validation: `node tools/router-training/evaluate.ts --data DIR`. See EVALUATION.md. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"

import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { trainedDemand } from "../../src/routing/TrainedDemand.ts"
import { type Findings, latencyOf, measure, orderOf, steadinessOf } from "./Evaluation.ts"
import { accuraciesOf, gapRecovered } from "./Measures.ts"
import { poolQualityOf } from "./Pool.ts"
import { foldOf, passes, train } from "./Training.ts"

const folds = 5

const command = Command.make(
  "evaluate",
  {
    data: Flag.String("data").pipe(
      Flag.withDescription("Folder to train on and, fold by fold, to measure on. May be given more than once."),
      Flag.atLeast(1)
    ),
    only: Flag.String("only").pipe(
      Flag.withDescription("Folder to measure on but never to train on. May be given more than once."),
      Flag.atLeast(0)
    ),
    seed: Flag.Int("seed").pipe(Flag.withDefault(1))
  },
  Effect.fn(function* ({ data, only, seed }) {
    const findings: Findings = {
      outcomes: new Map(),
      outcomesOfOneWeak: new Map(),
      chat: new Map(),
      priced: [],
      prompts: []
    }
    const catalog = yield* Effect.fromResult(loadCatalog())
    const models = [...catalog.models.values()].filter(({ kind }) => kind === "chat")
    for (let fold = 0; fold < folds; fold++) {
      const weights = yield* train({
        ...passes,
        directories: data,
        seed,
        heldOut: (row) => foldOf(row, folds) === fold
      })
      const demand = trainedDemand(weights)
      yield* measure(findings, { demand, directories: data, inFold: (row) => foldOf(row, folds) === fold })
      if (fold > 0) continue
      // What is never trained on needs no folds.
      if (only.length > 0) yield* measure(findings, { demand, directories: only, inFold: () => true })
      const prompts = findings.prompts.map(({ prompt }) => prompt)
      const { kept, mix } = steadinessOf(models, demand, prompts)
      yield* Console.log(`## Stability and mix: ${prompts.length} prompts, ${models.length} models\n`)
      for (const [name, share] of kept) yield* Console.log(`- ${name}: ${percent(share)} keep their model`)
      const sorted = [...mix].sort(([, a], [, b]) => b - a)
      yield* Console.log(`- mix: ${sorted.map(([model, share]) => `${model} ${percent(share)}`).join(", ")}\n`)
      const latency = yield* latencyOf(models, demand, prompts)
      yield* Console.log("## Latency of a decision\n")
      for (const characters of [200, 1_000, 4_000]) {
        const { p50Millis, p99Millis } = latency(characters)
        yield* Console.log(`- ${characters} characters: p50 ${p50Millis.toFixed(3)} ms, p99 ${p99Millis.toFixed(3)} ms`)
      }
    }
    yield* Console.log(
      "\n## Chat: whose own axis is the highest, and pairs of kinds and of grades in the right order\n"
    )
    for (const [set, rows] of findings.chat) {
      const kinds = [...new Set(rows.flatMap(({ kind, right }) => (right === undefined ? [] : [kind])))]
      const shares = kinds.map((kind) => {
        const own = rows.filter((row) => row.kind === kind)
        return `${kind} ${own.filter(({ right }) => right).length} of ${own.length}`
      })
      const order = orderOf(rows)
      yield* Console.log(`- ${nameOf(set)}: ${shares.join(", ")}`)
      const graded = Number.isNaN(order.grades) ? "" : `, grades ${order.grades.toFixed(3)}`
      yield* Console.log(`  kinds ${order.kinds.toFixed(3)}${graded}`)
    }
    if (findings.priced.length > 1) {
      const { blind, oracle, router } = poolQualityOf(findings.priced)
      const cells = [blind, router, oracle].map((cell) => cell.toFixed(3))
      yield* Console.log("\n## Quality over cost (AIQ) among all models of priced rows\n")
      yield* Console.log(`- ${findings.priced.length} rows: blind ${cells[0]}, router ${cells[1]}, oracle ${cells[2]}`)
    }
    yield* Console.log("\n## Gap recovered and accuracy with half of the prompts sent to the strong model\n")
    yield* Console.log(
      `| set | rows | APGR | one weak | weak | random | router | oracle | strong |\n${"|---".repeat(9)}|`
    )
    for (const [set, outcomes] of findings.outcomes) {
      const { alwaysStrong, alwaysWeak, oracle, random, router } = accuraciesOf(outcomes)
      const oneWeak = gapRecovered(findings.outcomesOfOneWeak.get(set) ?? [])
      const cells = [gapRecovered(outcomes), oneWeak, alwaysWeak, random, router, oracle, alwaysStrong]
      yield* Console.log(
        `| ${nameOf(set)} | ${outcomes.length} | ${cells.map((cell) => cell.toFixed(3)).join(" | ")} |`
      )
    }
  })
).pipe(Command.withDescription("Measures the router on rows that its weights have not seen."))

/** A set without a name is that of its file, of which the end says enough. */
const nameOf = (set: string): string => set.split("/").slice(-3).join("/")

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`

Command.run(command, { version: "1" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
