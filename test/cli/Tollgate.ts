/** Runs the `tollgate` command as an operator does, in a process of its own. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import process from "node:process"

import { Effect } from "effect"

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
