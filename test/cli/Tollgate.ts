/** Runs the `tollgate` command: as an operator does, in a process of its own, or within the process of the tests. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import process from "node:process"

import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Console, Effect, Layer, Logger, References, Stdio } from "effect"

import { exitCodeOf, runCommand } from "../../src/cli/CommandTree.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { root } from "../support/SourceTree.ts"

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

const outputMax = 512 * 1024 * 1024

export const tollgate = (
  environment: Environment,
  words: ReadonlyArray<string>,
  input: string | Uint8Array = ""
): Effect.Effect<Ended> =>
  Effect.callback((resume) => {
    const child = execFile(
      process.execPath,
      [join(root, "src/cli.ts"), ...words],
      { env: environment, maxBuffer: outputMax },
      (_error, out, err) => resume(Effect.succeed({ code: child.exitCode ?? -1, out, err }))
    )
    // The process may end before it has read all of its input.
    child.stdin?.on("error", () => {})
    child.stdin?.end(input)
  })

/**
 * The same without a process, which takes seconds on a busy machine: the same words, variables, output and exit code.
 * Nobody sits at its terminal. What a process alone can prove is left out: the runtime of Node, its streams and locks.
 */
export const tollgateInProcess = (environment: Environment, words: ReadonlyArray<string>): Effect.Effect<Ended> =>
  Effect.promise(async () => {
    const out: Array<string> = []
    const err: Array<string> = []
    const keep =
      (lines: Array<string>) =>
      (...values: ReadonlyArray<unknown>) =>
        void lines.push(`${values.join(" ")}\n`)
    const exit = await Effect.runPromiseExit(
      runCommand(words).pipe(
        Effect.provide(
          Layer.mergeAll(
            NodeServices.layer,
            Stdio.layerTest({ stdinIsTerminal: Effect.succeed(false), stderrIsTerminal: Effect.succeed(false) }),
            ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment })),
            Logger.layer([Logger.withConsoleError(Logger.formatSimple)]),
            Layer.succeed(References.MinimumLogLevel, "Warn"),
            Layer.succeed(Console.Console, { ...globalThis.console, log: keep(out), error: keep(err) })
          )
        )
      )
    )
    return { code: exitCodeOf(exit), out: out.join(""), err: err.join("") }
  })
