/** Runs commands as a reader of the documentation would: in the project's folder, with nothing but what it says. */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import process from "node:process"

import { Effect } from "effect"

import { root } from "./SourceTree.ts"

export interface Outcome {
  readonly code: number | null
  /** Standard output and standard error as they came. */
  readonly output: string
}

/** Until a command counts as stuck. */
const timeoutMillis = 240_000

const searchPath = [dirname(process.execPath), join(root, "node_modules/.bin"), process.env["PATH"] ?? ""]

/** Whether a program can be found. */
export const hasProgram = (name: string): boolean =>
  searchPath.some((entry) => entry.split(delimiter).some((folder) => existsSync(join(folder, name))))

/**
 * The outcome of a command. The gateway it talks to may live in this process, so nothing here blocks. Of the
 * environment it sees only what finds programs: a provider key of the machine would switch the simulated provider off.
 */
export const runCommand = (
  program: string,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {}
): Effect.Effect<Outcome> =>
  Effect.callback((resume) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { PATH: searchPath.join(delimiter), HOME: process.env["HOME"] ?? root, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMillis
    })
    let output = ""
    const collect = (piece: Buffer) => void (output += piece.toString())
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    child.on("error", (error) => resume(Effect.succeed({ code: null, output: error.message })))
    child.on("close", (code) => resume(Effect.succeed({ code, output })))
    return Effect.sync(() => void child.kill())
  })

/** A block of shell lines; the first that fails ends it. */
export const runShell = (text: string, variables: Readonly<Record<string, string>>): Effect.Effect<Outcome> =>
  runCommand("bash", ["-euo", "pipefail", "-c", text], variables)
