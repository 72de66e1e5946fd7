/**
 * The whole gateway against a bare `node:http` proxy, `npm run bench -- gateway`. The proxy only parses and encodes
 * what it passes on to the same provider; the gateway authenticates, limits, holds, settles and logs, on a PostgreSQL
 * that flushes every commit. The servers take turns, and the medians are compared. The ratios can be compared between
 * machines, and those of processor time also where others use the machine; the absolute figures cannot.
 *
 * The words after `gateway` choose scenarios and peers; see `usage`. `BENCH_JSON` names a file that gets every value.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { setTimeout as pause } from "node:timers/promises"

import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import { type BenchArguments, readArguments } from "./gateway/BenchArguments.ts"
import { type Figure, rowOf, summaryOf } from "./gateway/BenchFigures.ts"
import { BenchLoad, type BenchServer } from "./gateway/BenchLoad.ts"
import type { Bench, BenchScenario } from "./gateway/BenchScenario.ts"
import { chatScenarios, plainCall } from "./gateway/ChatScenarios.ts"
import { clientScenarios } from "./gateway/ClientScenarios.ts"
import { organizationScenarios } from "./gateway/ManyOrganizations.ts"
import { memoryScenarios } from "./gateway/MemoryScenarios.ts"
import { otherScenarios } from "./gateway/OtherScenarios.ts"
import { peerGateways } from "./gateway/PeerGateways.ts"

const scenarios: Readonly<Record<string, BenchScenario>> = {
  ...chatScenarios,
  ...clientScenarios,
  ...organizationScenarios,
  ...otherScenarios,
  ...memoryScenarios
}
const defaults = ["plain", "auto", "stream", "latency"]
const rounds = Number(process.env["BENCH_ROUNDS"] ?? "5")
const key = "tg-bench"
const warmUpRequests = 3_000
const peerStartMillis = 60_000

const usage = (): string =>
  [
    `Usage: npm run bench -- gateway [scenario [count]]... [${Object.keys(peerGateways).join("] [")}]`,
    `Without a scenario: ${defaults.join(" ")}. With "all", each of them:`,
    ...Object.entries(scenarios).map(
      ([name, { count, summary }]) => `  ${name.padEnd(14)} ${summary}${count === undefined ? "" : ` (${count})`}`
    )
  ].join("\n")

const load = new BenchLoad({
  callers: 32,
  warmUpMillis: Number(process.env["BENCH_WARM_UP_MILLIS"] ?? "2000"),
  roundMillis: Number(process.env["BENCH_ROUND_MILLIS"] ?? "4000")
})

/** Everything that a run has started, in the order in which it is ended. */
const endings: Array<() => unknown> = []

const spawned = (file: string, words: ReadonlyArray<string>, environment?: Readonly<Record<string, string>>) => {
  // What peers write is of no interest; they have variables of their own, and the servers of the bench have not.
  const stdio = environment === undefined ? "inherit" : "ignore"
  const child = spawn(file, words, { stdio, env: { ...process.env, ...environment } })
  endings.unshift(() => child.kill())
  return child
}

/** Once, and also when the run is interrupted: PostgreSQL would go on without it. */
const end = async (): Promise<void> => {
  for (const ending of endings.splice(0)) await ending()
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void end().then(() => process.exit(1)))

const startRole = async (
  name: string,
  ...to: ReadonlyArray<number>
): Promise<BenchServer & { readonly port: number }> => {
  const port = await PostgresServer.freePort()
  const script = join(import.meta.dirname, "gateway/BenchProcess.ts")
  const child = spawned(process.execPath, [script, name, ...[port, ...to].map(String)])
  return { name, url: `http://127.0.0.1:${port}`, port, pid: child.pid, headers: {} }
}

/** Whether a peer answers before it ends, and before the time is up. */
const answersSoon = async (url: string, child: ChildProcess): Promise<boolean> => {
  for (let waited = 0; waited < peerStartMillis && child.exitCode === null; waited += 250) {
    const answered = await fetch(url).then(
      (answer) => answer.arrayBuffer().then(() => true),
      () => false
    )
    if (answered) return true
    await pause(250)
  }
  return false
}

/** A peer that is installed; otherwise a line that says how it would be. */
const startPeer = async (name: string, provider: string, directory: string): Promise<BenchServer | undefined> => {
  const port = await PostgresServer.freePort()
  const peer = peerGateways[name]
  const command = peer?.command({ port, provider, directory })
  if (peer === undefined || command === undefined) {
    console.log(`${name} is not installed: ${peer?.install}`)
    return undefined
  }
  if (command.config !== undefined) writeFileSync(command.config.path, command.config.text)
  const child = spawned(command.file, command.arguments, command.environment)
  const url = `http://127.0.0.1:${port}`
  if (await answersSoon(url + peer.readyPath, child)) return { name, url, pid: child.pid, headers: command.headers }
  console.log(`${name} does not start, so it is left out.`)
  return undefined
}

const started = async (bin: string, directory: string, { peers }: BenchArguments): Promise<Bench> => {
  const provider = await startRole("provider")
  const floor = await startRole("floor", provider.port)
  const startPostgres = async (name: string): Promise<string> => {
    const server = await PostgresServer.start(bin, join(directory, name.replaceAll(" ", "-")), { max_connections: 60 })
    endings.push(server.stop)
    return server.url
  }
  const startGateway: Bench["startGateway"] = async (name, environment) => {
    const gateway = new GatewayProcess(await PostgresServer.freePort(), {
      BOOTSTRAP_API_KEY: key,
      BOOTSTRAP_CREDIT_USD: "100000",
      RATE_LIMIT_RPM: "100000000",
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `${provider.url}/v1`,
      ...environment
    })
    endings.unshift(() => gateway.kill())
    if (!(await gateway.ready)) throw new Error(gateway.output.join(""))
    const stop = async (): Promise<void> => void (await gateway.kill())
    return { name, url: gateway.url, pid: gateway.child.pid, headers: { authorization: `Bearer ${key}` }, stop }
  }
  const database = await startPostgres("postgres")
  const gateway = await startGateway("gateway", { DATABASE_URL: database })
  const beside = await Promise.all(peers.map((name) => startPeer(name, provider.url, directory)))
  const installed = beside.filter((peer) => peer !== undefined)
  return { gateway, floor, peers: installed, load, rounds, directory, database, startGateway, startPostgres }
}

const report = (figures: ReadonlyArray<Figure>): void => {
  console.table(figures.map(rowOf))
  const file = process.env["BENCH_JSON"]
  if (file === undefined) return
  const all = figures.map((figure) => ({ ...figure, ...summaryOf(figure.values) }))
  writeFileSync(file, `${JSON.stringify({ node: process.version, rounds, ...load.pace, figures: all }, null, 2)}\n`)
}

const main = async (chosen: BenchArguments): Promise<void> => {
  const bin = PostgresServer.binaries()
  if (bin === undefined) return console.error("This benchmark needs the binaries of PostgreSQL (initdb, pg_ctl).")
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  // PostgreSQL may run as another user, who must be able to enter the directory.
  chmodSync(directory, 0o755)
  mkdirSync(join(directory, "embedded"))
  const figures: Array<Figure> = []
  try {
    const bench = await started(bin, directory, chosen)
    // Otherwise the first scenario would measure code that is not compiled yet.
    for (const server of [bench.floor, bench.gateway, ...bench.peers])
      await load.requests(
        server,
        () => plainCall,
        warmUpRequests,
        () => undefined
      )
    for (const { count, name } of chosen.scenarios) {
      const scenario = scenarios[name]
      if (scenario === undefined) continue
      console.log(`${name}: ${scenario.summary}`)
      figures.push(...(await scenario.run(bench, count ?? scenario.count ?? 1)))
    }
  } finally {
    if (figures.length > 0) report(figures)
    if (!load.report()) process.exitCode = 1
    await end()
    rmSync(directory, { recursive: true, force: true })
  }
}

const words = process.argv.slice(3)
const vocabulary = { scenarios: Object.keys(scenarios), defaults, peers: Object.keys(peerGateways) }
const chosen = readArguments(words, vocabulary)
if (typeof chosen !== "string") await main(chosen)
else {
  if (words[0] !== "--help") console.error(chosen)
  console.log(usage())
  process.exitCode = words[0] === "--help" ? 0 : 2
}
process.exit()
