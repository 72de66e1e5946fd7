/** The gateway as operators run it, `node src/main.ts` in a process of its own, to be killed or measured. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { join } from "node:path"
import process from "node:process"

const root = join(import.meta.dirname, "../..")

export class GatewayProcess {
  readonly url: string
  /** What it said last, for when a suite fails. */
  readonly lines: Array<string> = []
  readonly child: ChildProcess
  /** The exit code; `null` when a signal ended it. */
  readonly ended: Promise<number | null>
  /** True once it listens; false when it ended before that. */
  readonly ready: Promise<boolean>
  listens = false

  constructor(port: number, environment: { readonly [variable: string]: string }) {
    this.url = `http://127.0.0.1:${port}`
    this.child = spawn(process.execPath, ["src/main.ts"], {
      cwd: root,
      env: { PATH: process.env["PATH"] ?? "", PORT: String(port), ...environment },
      stdio: ["ignore", "pipe", "pipe"]
    })
    this.ended = new Promise((resolve) => this.child.once("exit", resolve))
    void this.ended.then(() => {
      this.listens = false
    })
    this.ready = new Promise((resolve) => {
      void this.ended.then(() => resolve(false))
      for (const output of [this.child.stdout, this.child.stderr])
        output?.on("data", (text: Buffer) => {
          this.lines.push(text.toString())
          if (this.lines.length > 200) this.lines.shift()
          // It is asked nothing before it says so: what connects too early may keep the port from being opened.
          this.listens ||= text.includes("Tollgate listens")
          if (this.listens) resolve(true)
        })
    })
  }

  /** As when the machine runs out of memory: no code of ours runs any more. */
  kill(): Promise<number | null> {
    this.child.kill("SIGKILL")
    return this.ended
  }

  /** As an orchestrator asks it to go. */
  terminate(): Promise<number | null> {
    this.child.kill("SIGTERM")
    return this.ended
  }
}

/** What `tollgate ledger verify` says of a database, and its exit code. */
export const audit = (url: string): Promise<{ readonly code: number | string; readonly says: string }> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      ["src/cli.ts", "ledger", "verify"],
      { cwd: root, env: { PATH: process.env["PATH"] ?? "", DATABASE_URL: url } },
      (error, output, errors) => resolve({ code: error?.code ?? 0, says: (output + errors).trim() })
    )
  })
