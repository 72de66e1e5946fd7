/**
 * SIGTERM while requests are at every point of their life. What can be finished within the time limit is finished; the
 * rest costs nothing, because it was the gateway that broke it off; and the process exits with 0 and nothing on hold.
 */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import { WorkerLog } from "../support/WorkerLog.ts"
import * as Accounts from "./Accounts.ts"
import { Jobs, type Scenario } from "./Jobs.ts"
import { type Observation, observe } from "./Observations.ts"

const rounds = 4
const requestsPerRound = 40
/** The time over which the requests of a round begin, so that the signal meets them at every point. */
const spreadMillis = 600

const scenarios: ReadonlyArray<Scenario> = ["answers", "answers", "answers", "flaky", "cut", "hangs"]

const scenarioOf = (job: number): Scenario => scenarios[job % scenarios.length] ?? "answers"
const isStream = (job: number): boolean => job % 4 < 2

/** Sends all requests of a round, and terminates the gateway while they run. */
const round = async (gateway: GatewayProcess, payer: Accounts.Payer, jobs: Jobs, observations: Array<Observation>) => {
  assert.isTrue(await gateway.ready, gateway.output.join(""))
  const numbers = Array.from({ length: requestsPerRound }, (_, index) => observations.length + index)
  const running = numbers.map(async (job) => {
    await pause(Math.random() * spreadMillis)
    return observe({ job, scenario: scenarioOf(job), stream: isStream(job), url: gateway.url, key: payer.key })
  })
  // However slow the machine: by then requests are being answered, and a stream is open that only the limit ends.
  const endless = numbers.filter((job) => isStream(job) && scenarioOf(job) === "hangs")
  while (gateway.listens && !endless.some((job) => jobs.productions.get(job)?.begun)) await pause(5)
  await pause((Math.random() * spreadMillis) / 2)
  const code = await gateway.terminate()
  assert.strictEqual(code, 0, gateway.output.join(""))
  observations.push(...(await Promise.all(running)))
}

/** With several workers, the rounds begin when all of them listen. */
const suite = Effect.fnUntraced(function* (bin: string, workers: number) {
  const postgres = yield* Effect.acquireRelease(
    Effect.promise(() =>
      PostgresServer.start(bin, join(inject("scratch"), `shutdown-${workers}`), { fsync: "off", max_connections: 50 })
    ),
    (server) => Effect.promise(() => server.stop())
  )
  const jobs = new Jobs(40)
  const environment = {
    ...(yield* jobs.install),
    DATABASE_URL: postgres.url,
    SHUTDOWN_TIMEOUT: "4 seconds",
    WORKERS: String(workers)
  }
  const [payer] = yield* Accounts.payers(postgres.url, ["1000"])
  const observations: Array<Observation> = []
  yield* Effect.promise(async () => {
    for (let count = 0; count < rounds; count++) {
      const gateway = new GatewayProcess(await PostgresServer.freePort(), environment)
      const log = new WorkerLog(gateway)
      if (workers > 1) await Promise.all(Array.from({ length: workers }, (_, worker) => log.pidOf(worker)))
      if (payer !== undefined) await round(gateway, payer, jobs, observations)
    }
  })
  const accounts = yield* Accounts.readAccounts(postgres.url)
  const outcomes = Object.groupBy(observations, ({ outcome }) => outcome)
  const figures = Object.entries(outcomes).map(([outcome, all]) => [outcome, all.length])
  console.log({ rounds, ...Object.fromEntries(figures), charges: accounts.charges.size, holds: accounts.holds })
  assert.deepStrictEqual([accounts.drift, accounts.holds, accounts.held], [[], 0, 0n])
  assert.deepStrictEqual(Accounts.wrongCharges(accounts, observations, jobs), [])
  assert.deepStrictEqual(Accounts.uncharged(accounts, observations), [])
  // Without these the signal came too early or too late to prove anything.
  assert.isAbove(outcomes.answered?.length ?? 0, 0)
  assert.isAbove(outcomes.stopped?.length ?? 0, 0)
  // The kernel resets connections that nobody has accepted when the port closes, and no gateway ever sees them. Every
  // request that arrived ends properly.
  const arrived = ({ id, job }: Observation): boolean => id !== undefined || jobs.productions.has(job)
  assert.deepStrictEqual(outcomes.cut?.filter(arrived) ?? [], [], "requests that ended without a message")
})

const bin = PostgresServer.binaries()

describe.skipIf(bin === undefined)("A gateway that is terminated", () => {
  it.live(
    `finishes what it can, charges for nothing else, and holds nothing, ${rounds} times`,
    () => suite(bin ?? "", 1).pipe(Effect.scoped, Effect.provide(FakeProvider.layer)),
    300_000
  )

  it.live(
    `does the same with two workers, ${rounds} times`,
    () => suite(bin ?? "", 2).pipe(Effect.scoped, Effect.provide(FakeProvider.layer)),
    300_000
  )
})
