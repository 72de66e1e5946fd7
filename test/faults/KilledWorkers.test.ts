/** A gateway of several processes on one PostgreSQL, whose workers are killed, cannot start, or lose their primary. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { parseExposition, sumOf } from "../support/Exposition.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { GatewayProcess, ledgerVerify } from "../support/GatewayProcess.ts"
import { driven } from "../support/HttpDriver.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import { WorkerLog } from "../support/WorkerLog.ts"
import * as Accounts from "./Accounts.ts"
import { Jobs } from "./Jobs.ts"
import { type Observation, observe } from "./Observations.ts"

const clients = 12
const killsUnderLoad = 3
const limits = { timeout: 300_000 }
const bin = PostgresServer.binaries()

interface Gateway {
  readonly gateway: GatewayProcess
  readonly log: WorkerLog
}

const opened = (environment: { readonly [variable: string]: string }, preload?: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Gateway> => {
      const gateway = new GatewayProcess(await PostgresServer.freePort(), { WORKERS: "2", ...environment }, preload)
      return { gateway, log: new WorkerLog(gateway) }
    }),
    ({ gateway }) => Effect.promise(() => gateway.kill())
  )

const database = (name: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      PostgresServer.start(bin ?? "", join(inject("scratch"), name), { fsync: "off", max_connections: 100 })
    ),
    (server) => Effect.promise(() => server.stop())
  )

/** Waits until a process is gone. */
const gone = async (pid: number): Promise<void> => {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await pause(20)
  }
}

const scraped = async ({ url }: GatewayProcess) => {
  const response = await driven(`${url}/metrics`)
  assert.strictEqual(response.status, 200)
  return parseExposition(await response.text())
}

/** Kills worker 1 again and again under load, and gives what the clients saw. */
const killedUnderLoad = async ({ gateway, log }: Gateway, { key }: Accounts.Payer) => {
  const observations: Array<Observation> = []
  let continues = true
  const loads = Array.from({ length: clients }, async () => {
    while (continues) {
      const job = observations.length
      const stream = job % 2 === 0
      observations[job] = { job, stream, isKeyed: false, outcome: "cut", at: 0 }
      observations[job] = await observe({ job, stream, scenario: "answers", url: gateway.url, key })
    }
  })
  for (let kill = 1; kill <= killsUnderLoad; kill++) {
    const pid = await log.pidOf(1, kill)
    // It has answered something, so that it is in the middle of the load.
    const before = log.lines("Request", 1).length
    await log.has("Request", before + 1, 1)
    process.kill(pid, "SIGKILL")
  }
  await log.pidOf(1, killsUnderLoad + 1)
  continues = false
  await Promise.all(loads)
  return observations
}

const underLoad = Effect.gen(function* () {
  const postgres = yield* database("workers-load")
  const jobs = new Jobs(20)
  const environment = { ...(yield* jobs.install), DATABASE_URL: postgres.url, RATE_LIMIT_RPM: "1000000" }
  const [payer] = yield* Accounts.payers(postgres.url, ["1000"])
  const { gateway, log } = yield* opened(environment)
  const observations = yield* Effect.promise(async () => {
    await log.pidOf(1)
    const seen = payer === undefined ? [] : await killedUnderLoad({ gateway, log }, payer)
    // The first one comes back as well, and announces nothing again.
    process.kill(await log.pidOf(0), "SIGKILL")
    await log.pidOf(0, 2)
    assert.strictEqual(await gateway.terminate(), 0, gateway.output.join(""))
    await gateway.closed
    return seen
  })
  const outcomes = Object.groupBy(observations, ({ outcome }) => outcome)
  console.log(Object.fromEntries(Object.entries(outcomes).map(([outcome, all]) => [outcome, all.length])))
  // The port stayed open, and only those that the killed process had accepted were cut.
  assert.includeMembers(["answered", "cut"], Object.keys(outcomes))
  assert.isNotEmpty(outcomes.answered)
  assert.isAtMost(outcomes.cut?.length ?? 0, killsUnderLoad * clients)
  const ends = log.lines("Request", 0).map(({ annotations }) => annotations["outcome"])
  assert.isNotEmpty(ends)
  assert.deepStrictEqual(
    ends.filter((outcome) => outcome !== "completed"),
    [],
    "requests of the worker that was not killed"
  )
  assert.strictEqual(log.lines("A worker ended; another is started in its place").length, killsUnderLoad + 1)
  assert.strictEqual(
    log.lines(`Tollgate listens on ${gateway.url}; the API reference is at /docs`).length,
    1,
    gateway.output.join("")
  )
  // What the dead processes held is given back by the next gateway, once their leases have run out.
  yield* Accounts.expireLeases(postgres.url)
  const last = yield* opened(environment)
  yield* Effect.promise(async () => {
    assert.isTrue(await last.gateway.ready)
    assert.strictEqual(await last.gateway.terminate(), 0)
  })
  const accounts = yield* Accounts.readAccounts(postgres.url)
  const audit = yield* Effect.promise(() => ledgerVerify(postgres.url))
  assert.strictEqual(audit.code, 0, audit.output)
  assert.deepStrictEqual([accounts.drift, accounts.holds, accounts.held], [[], 0, 0n])
  assert.deepStrictEqual(Accounts.wrongCharges(accounts, observations, jobs), [])
  assert.deepStrictEqual(Accounts.uncharged(accounts, observations), [])
})

const crashLoop = Effect.gen(function* () {
  const { url } = yield* database("workers-crash")
  const flag = join(inject("scratch"), "workers-crash.flag")
  const key = "tg-workers-first-key"
  const environment = { DATABASE_URL: url, CRASH_WHILE: flag, BOOTSTRAP_API_KEY: key }
  const { gateway, log } = yield* opened(environment, join(import.meta.dirname, "CrashingWorker.ts"))
  yield* Effect.promise(async () => {
    const pid = await log.pidOf(1)
    const before = await scraped(gateway)
    assert.strictEqual(sumOf(before, "tollgate_workers_missing"), 0)
    for (const worker of ["0", "1"]) {
      assert.strictEqual(sumOf(before, "tollgate_build_info", { worker }), 1)
      assert.isAbove(sumOf(before, "process_start_time_seconds", { worker }), 0)
    }
    writeFileSync(flag, "")
    process.kill(pid, "SIGKILL")
    const ends = await log.has("A worker ended; another is started in its place", 4)
    assert.deepStrictEqual(
      ends.slice(0, 4).map(({ annotations: { delayMillis, exitCode, failures, signal, worker } }) => ({
        worker,
        end: signal ?? exitCode,
        failures,
        delayMillis
      })),
      [
        { worker: 1, end: "SIGKILL", failures: 1, delayMillis: 500 },
        { worker: 1, end: 7, failures: 2, delayMillis: 1_000 },
        { worker: 1, end: 7, failures: 3, delayMillis: 2_000 },
        { worker: 1, end: 7, failures: 4, delayMillis: 4_000 }
      ]
    )
    // The other one serves meanwhile, and answers for both.
    const meanwhile = await scraped(gateway)
    assert.strictEqual(sumOf(meanwhile, "tollgate_workers_missing"), 1)
    assert.strictEqual(sumOf(meanwhile, "tollgate_build_info"), 1)
    rmSync(flag)
    await log.pidOf(1, 2)
    const after = await scraped(gateway)
    assert.strictEqual(sumOf(after, "tollgate_workers_missing"), 0)
    assert.isAtLeast(sumOf(after, "tollgate_worker_restarts_total", { worker: "1" }), 4)
    assert.strictEqual(sumOf(after, "tollgate_worker_restarts_total", { worker: "0" }), 0)
  })
  // Workers do not outlive their primary, which could not stop them any more.
  yield* Effect.promise(async () => {
    const pids = [await log.pidOf(0), await log.pidOf(1, 2)]
    await gateway.kill()
    await Promise.all(pids.map(gone))
  })
})

describe.skipIf(bin === undefined)("Workers that are killed", () => {
  it.live(
    "take only their own requests with them, and come back",
    () => underLoad.pipe(Effect.scoped, Effect.provide(FakeProvider.layer)),
    limits
  )

  it.live("are started again at growing intervals, while the others serve", () => Effect.scoped(crashLoop), limits)
})

describe("A gateway with WORKERS", () => {
  /** Its exit code, and its log. */
  const ended = (environment: { readonly [variable: string]: string }) =>
    Effect.gen(function* () {
      const { gateway, log } = yield* opened(environment)
      yield* Effect.promise(() => gateway.closed)
      return { code: yield* Effect.promise(() => gateway.ended), log, output: gateway.output.join("") }
    }).pipe(Effect.scoped)

  it.live(
    "refuses the embedded engine, and says what to set",
    () =>
      Effect.gen(function* () {
        const { code, output } = yield* ended({ DATA_DIR: join(inject("scratch"), "workers-embedded") })
        assert.strictEqual(code, 1)
        assert.match(output, /WORKERS: the embedded engine runs inside one process.*DATABASE_URL/)
      }),
    limits
  )

  it.live(
    "is one process on the embedded engine when their number is left to it",
    () =>
      Effect.gen(function* () {
        const { gateway, log } = yield* opened({
          WORKERS: "auto",
          DATA_DIR: join(inject("scratch"), "workers-auto")
        })
        assert.isTrue(yield* Effect.promise(() => gateway.ready), gateway.output.join(""))
        yield* Effect.promise(() => gateway.terminate())
        yield* Effect.promise(() => gateway.closed)
        const [stopped, ...others] = log.lines("Tollgate has stopped")
        assert.deepStrictEqual([stopped?.annotations, others], [{ exitCode: 0 }, []])
      }),
    limits
  )

  it.live(
    "ends when its first worker cannot start, and logs why once",
    () =>
      Effect.gen(function* () {
        const { code, output } = yield* ended({ DATABASE_URL: "postgres://u:p@127.0.0.1:1/none" })
        assert.strictEqual(code, 1)
        const lines = output.split("\n").filter((line) => line.includes("Tollgate cannot start"))
        assert.match(lines[0] ?? "", /"worker":0/)
        assert.match(lines[1] ?? "", /worker 0 ended with exit code 1 before it listened/)
        assert.lengthOf(lines, 2)
      }),
    limits
  )

  it.live(
    "names a port that is in use before it starts any worker",
    () =>
      Effect.gen(function* () {
        const first = yield* opened({ WORKERS: "1", DATA_DIR: join(inject("scratch"), "workers-port") })
        assert.isTrue(yield* Effect.promise(() => first.gateway.ready), first.gateway.output.join(""))
        const { code, output } = yield* ended({
          PORT: new URL(first.gateway.url).port,
          DATABASE_URL: "postgres://u:p@127.0.0.1:1/none"
        })
        assert.strictEqual(code, 1)
        assert.match(output, /PORT: \d+ on 127\.0\.0\.1 is in use/)
        assert.notInclude(output, '"worker"')
      }),
    limits
  )
})
