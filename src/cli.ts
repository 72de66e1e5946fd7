#!/usr/bin/env node
/** `tollgate`: the commands of an operator, which `src/cli/CommandTree.ts` lists, as a process. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, Layer, Logger, References, Stdio } from "effect"

import { exitCodeOf, runCommand } from "./cli/CommandTree.ts"
import { environment } from "./Config.ts"

const run = Effect.flatMap(Stdio.Stdio, ({ args }) => Effect.flatMap(args, runCommand)).pipe(
  Effect.provide(
    Layer.mergeAll(
      NodeServices.layer,
      ConfigProvider.layer(environment),
      Logger.layer([Logger.withConsoleError(Logger.formatSimple)]),
      Layer.succeed(References.MinimumLogLevel, "Warn")
    )
  )
)

NodeRuntime.runMain(run, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit))
})
