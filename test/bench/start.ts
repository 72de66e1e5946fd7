/**
 * How long a gateway takes from nothing to its first answered request, and how much memory it has taken by then,
 * `npm run bench -- start`: the very first start, with an empty database and no compiled modules, and later ones, on
 * the embedded engine and on PostgreSQL. Rounds alternate between the four; medians are printed. The memory is read
 * from `/proc`, so it is known on Linux only.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"

import { quantile } from "../../tools/router-training/Metrics.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "5")
const key = "tg-bench"

interface Start {
  readonly millis: number
  /** The most resident memory that it ever had. */
  readonly peakBytes: number
  readonly cpuMillis: number
}

const peakOf = (pid: number): number =>
  Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024

/** The kernel counts in hundredths of a second; the first two fields of the line are before the parenthesis. */
const cpuMillisOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const started = async (environment: { readonly [variable: string]: string }): Promise<Start> => {
  const port = await PostgresServer.freePort()
  const startedAt = performance.now()
  const gateway = new GatewayProcess(port, { ...environment, BOOTSTRAP_API_KEY: key })
  if (!(await gateway.ready)) throw new Error(gateway.output.join(""))
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "svc-auto", messages: [{ role: "user", content: "Hello" }] })
  })
  await response.text()
  if (response.status !== 200) throw new Error(`The first request was answered with ${response.status}`)
  const millis = performance.now() - startedAt
  const pid = gateway.child.pid ?? 0
  const measured = existsSync("/proc/self/status")
  const start = { millis, peakBytes: measured ? peakOf(pid) : 0, cpuMillis: measured ? cpuMillisOf(pid) : 0 }
  await gateway.terminate()
  return start
}

const median = (starts: ReadonlyArray<Start>, of: (start: Start) => number): number => quantile(starts.map(of), 0.5)

const row = (name: string, starts: ReadonlyArray<Start>) => ({
  start: name,
  "first answer s": (median(starts, ({ millis }) => millis) / 1_000).toFixed(2),
  "from … to": [Math.min, Math.max]
    .map((of) => (of(...starts.map(({ millis }) => millis)) / 1_000).toFixed(2))
    .join(" … "),
  "cpu s": (median(starts, ({ cpuMillis }) => cpuMillis) / 1_000).toFixed(2),
  "peak MB": Math.round(median(starts, ({ peakBytes }) => peakBytes) / 1e6)
})

const main = async (): Promise<void> => {
  const bin = PostgresServer.binaries()
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  // PostgreSQL may run as another user, who must be able to enter the directory.
  chmodSync(directory, 0o755)
  const server =
    bin === undefined
      ? undefined
      : await PostgresServer.start(bin, join(directory, "postgres"), { max_connections: 60 })
  const starts: { readonly [name: string]: Array<Start> } = {
    "embedded, first": [],
    "embedded, later": [],
    "PostgreSQL, first": [],
    "PostgreSQL, later": []
  }
  try {
    for (let round = 0; round < rounds; round++) {
      const compiled = (engine: string) => ({ NODE_COMPILE_CACHE: join(directory, `${engine}-compiled-${round}`) })
      const embedded = { DATA_DIR: join(directory, `data-${round}`), ...compiled("embedded") }
      starts["embedded, first"]?.push(await started(embedded))
      starts["embedded, later"]?.push(await started(embedded))
      if (server === undefined) continue
      // The first round finds the database empty; the others only find no compiled modules.
      const postgres = { DATABASE_URL: server.url, ...compiled("postgresql") }
      starts["PostgreSQL, first"]?.push(await started(postgres))
      starts["PostgreSQL, later"]?.push(await started(postgres))
    }
    console.table(Object.entries(starts).flatMap(([name, all]) => (all.length === 0 ? [] : [row(name, all)])))
  } finally {
    await server?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
