/**
 * The gateway as operators run it, `node src/launch.ts` in a process of its own, which suites kill and benchmarks
 * measure.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { join } from "node:path"
import process from "node:process"

const root = join(import.meta.dirname, "../..")

export class GatewayProcess {
  readonly url: string
  /** The last parts of what it wrote to stdout and stderr, for the message of a suite that fails. */
  readonly output: Array<string> = []
  readonly child: ChildProcess
  /** The exit code; `null` when a signal ended it. */
  readonly ended: Promise<number | null>
  /** Resolves when it has ended and all that it wrote is in `output`. */
  readonly closed: Promise<void>
  /** True once it listens; false when it ended before that. */
  readonly ready: Promise<boolean>
  listens = false

  /** `preload`: a module that is loaded before the gateway, and that exchanges messages with this process. */
  constructor(port: number, environment: { readonly [variable: string]: string }, preload?: string) {
    this.url = `http://127.0.0.1:${port}`
    this.child = spawn(process.execPath, [...(preload === undefined ? [] : ["--import", preload]), "src/launch.ts"], {
      cwd: root,
      env: { PATH: process.env["PATH"] ?? "", PORT: String(port), ...environment },
      stdio: ["ignore", "pipe", "pipe", ...(preload === undefined ? [] : ["ipc" as const])]
    })
    this.ended = new Promise((resolve) => this.child.once("exit", resolve))
    this.closed = new Promise((resolve) => this.child.once("close", () => resolve()))
    void this.ended.then(() => {
      this.listens = false
    })
    this.ready = new Promise((resolve) => {
      void this.ended.then(() => resolve(false))
      for (const stream of [this.child.stdout, this.child.stderr])
        stream?.on("data", (text: Buffer) => {
          this.output.push(text.toString())
          if (this.output.length > 200) this.output.shift()
          // Nothing is sent before this line is logged: what connects too early may keep the port from being opened.
          this.listens ||= this.output.join("").includes("Tollgate listens")
          if (this.listens) resolve(true)
        })
    })
  }

  /** Ends it at once, as when the machine runs out of memory: none of its code runs any more. */
  kill(): Promise<number | null> {
    this.child.kill("SIGKILL")
    return this.ended
  }

  /** Asks it to shut down, as an orchestrator does. */
  terminate(): Promise<number | null> {
    this.child.kill("SIGTERM")
    return this.ended
  }
}

/** Runs `tollgate ledger verify --strict` on a database. */
export const ledgerVerify = (url: string): Promise<{ readonly code: number | string; readonly output: string }> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      ["src/cli.ts", "ledger", "verify", "--strict"],
      { cwd: root, env: { PATH: process.env["PATH"] ?? "", DATABASE_URL: url } },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, output: (stdout + stderr).trim() })
    )
  })
