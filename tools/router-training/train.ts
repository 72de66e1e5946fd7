#!/usr/bin/env node
/** Trains the router's weights: `node tools/router-training/train.ts --data DIR --out FILE`. See `README.md`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem } from "effect"
import { Command, Flag } from "effect/cli"

import { encodeWeights } from "../../src/routing/Weights.ts"
import { defaultPasses, foldOf, train } from "./Training.ts"

const command = Command.make(
  "train",
  {
    data: Flag.String("data").pipe(
      Flag.withDescription("Directory of JSON Lines files, including its subdirectories. May be given more than once."),
      Flag.atLeast(1)
    ),
    out: Flag.String("out").pipe(Flag.withDescription("File to write the weights to.")),
    seed: Flag.Int("seed").pipe(Flag.withDefault(1)),
    skillPasses: Flag.Int("skill-passes").pipe(Flag.withDefault(defaultPasses.skillPasses)),
    difficultyPasses: Flag.Int("difficulty-passes").pipe(Flag.withDefault(defaultPasses.difficultyPasses)),
    folds: Flag.Int("folds").pipe(Flag.withDefault(5)),
    without: Flag.Int("without").pipe(
      Flag.withDescription("Leave out this fold, counted from 0. With -1, all data is trained on."),
      Flag.withDefault(-1)
    )
  },
  Effect.fn(function* ({ data, difficultyPasses, folds, out, seed, skillPasses, without }) {
    const weights = yield* train({
      directories: data,
      seed,
      skillPasses,
      difficultyPasses,
      heldOut: (row) => foldOf(row, folds) === without
    })
    const files = yield* FileSystem.FileSystem
    const bytes = encodeWeights(weights)
    yield* files.writeFile(out, bytes)
    yield* Effect.logInfo(`${out}: ${bytes.length} bytes, ${weights.origin}`)
  })
).pipe(Command.withDescription("Trains the weights of the router on labelled prompts and on the scores of models."))

Command.run(command, { version: "1" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
