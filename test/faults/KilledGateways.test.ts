/**
 * Two gateways on one PostgreSQL, under load, while gateways are killed, the server crashes and connections are cut.
 * `FAULT_KILLS` sets how many gateways are killed: ten in every run of the tests, sixty in `npm run test:faults`.
 */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"

import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { GatewayProcess, ledgerVerify } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import * as Accounts from "./Accounts.ts"
import { Jobs, type Scenario } from "./Jobs.ts"
import { type JobRequest, type Observation, observe } from "./Observations.ts"

const kills = Number(process.env["FAULT_KILLS"] ?? "10")
const clients = 24
const scenarios: ReadonlyArray<Scenario> = ["answers", "answers", "answers", "answers", "flaky", "fails", "cut"]
const oneIn = (chances: number) => Math.random() * chances < 1
const upTo = (limit: number) => Math.floor(Math.random() * limit)

/** A replica: a port on which a gateway runs, and on which another is started whenever it ends. */
class Replica {
  gateway: GatewayProcess
  starts = 0
  private readonly open: () => GatewayProcess
  private restarts = true

  constructor(open: () => GatewayProcess) {
    this.open = open
    this.gateway = this.start()
  }

  private start(): GatewayProcess {
    this.starts++
    const gateway = this.open()
    void gateway.ended.then(() => {
      if (this.restarts) this.gateway = this.start()
    })
    return gateway
  }

  /** Waits for a gateway that answers. */
  async ready(): Promise<void> {
    while (!(await this.gateway.ready)) await pause(10)
  }

  close(): Promise<number | null> {
    this.restarts = false
    return this.gateway.kill()
  }
}

/** One client that sends one request after the other for as long as `continues` is true. */
const load = async (
  replicas: ReadonlyArray<Replica>,
  payers: ReadonlyArray<Accounts.Payer>,
  observations: Array<Observation>,
  { continues, expireClaim }: { continues: () => boolean; expireClaim: (key: string) => Promise<void> }
) => {
  const repeats: Array<JobRequest> = []
  while (continues()) {
    const up = replicas.filter(({ gateway }) => gateway.listens)
    const replica = up[upTo(up.length)]
    const payer = payers[upTo(payers.length)]
    if (replica === undefined || payer === undefined) {
      await pause(20)
      continue
    }
    const repeat = repeats.shift()
    if (repeat?.idempotencyKey !== undefined) await expireClaim(repeat.idempotencyKey)
    const request = repeat ? { ...repeat, url: replica.gateway.url } : newRequest(observations.length, replica, payer)
    const isKeyed = request.idempotencyKey !== undefined
    const observation = {
      job: request.job,
      stream: request.stream,
      isKeyed,
      outcome: "cut",
      at: 0
    } satisfies Observation
    // What the last try observed counts, and an id that an earlier one has learned.
    observations[request.job] = { ...observation, ...withId(observations[request.job]) }
    observations[request.job] = { ...withId(observations[request.job]), ...(await observe(request)) }
    const { outcome } = observations[request.job] ?? observation
    if (isKeyed && (outcome === "cut" || outcome === "unreachable")) repeats.push(request)
    if (outcome === "unreachable" || outcome === "refused") await pause(20)
  }
}

/** One in two has an Idempotency-Key, and is repeated until its client has an answer. */
const newRequest = (job: number, { gateway }: Replica, { key }: Accounts.Payer): JobRequest => {
  const stream = oneIn(2)
  const scenario = scenarios[upTo(scenarios.length)] ?? "answers"
  const request = { job, stream, scenario, url: gateway.url, key }
  if (oneIn(2)) return { ...request, idempotencyKey: randomUUID() }
  return { ...request, leaveAfter: oneIn(6) ? upTo(stream ? 8 : 100) : undefined }
}

const withId = (observation: Observation | undefined) => (observation?.id === undefined ? {} : { id: observation.id })

/** Lets the lifetime of a claim pass, which is half a minute after the death of its gateway. */
const expireClaim = (url: string) => (key: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 })
    yield* sql`UPDATE recorded_answer SET claimed_until = claimed_until - interval '1 minute' WHERE key = ${key}`
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.ignore, Effect.runPromise)

/** How long a charge waits for a database that is away. */
const chargeMillis = 1_000

/** The time in which the server was down or coming back, in milliseconds since the epoch. */
type Outage = readonly [from: number, to: number]

/** Kills gateways one after the other, and in between crashes the server or cuts all its connections. */
const injectFaults = async (
  replicas: ReadonlyArray<Replica>,
  server: PostgresServer.PostgresServer,
  cutAll: () => Promise<number>
) => {
  const outages: Array<Outage> = []
  let cuts = 0
  for (let killed = 0; killed < kills; killed++) {
    const replica = replicas[upTo(replicas.length)]
    await replica?.ready()
    await pause(upTo(500))
    if (killed % 5 === 2) {
      const from = Date.now()
      await server.crash()
      const to = Date.now()
      // Busy processes need time to pass an answer on: as much as the server needed, which is a measure of the load.
      outages.push([from, to + chargeMillis + (to - from)])
    } else if (killed % 5 === 4) cuts += await cutAll()
    await pause(upTo(100))
    await replica?.gateway.kill()
  }
  return { outages, cuts }
}

/**
 * Starts one more gateway, which sweeps up after the dead ones, and shuts it down: what remains then, remains for good.
 */
const sweep = async (url: string, open: () => GatewayProcess): Promise<void> => {
  await Effect.runPromise(Accounts.expireLeases(url))
  const last = open()
  assert.isTrue(await last.ready, last.output.join(""))
  assert.strictEqual(await last.terminate(), 0, last.output.join(""))
}

const cutConnections = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 })
    const cut = yield* sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL`
    return cut.length
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.orDie)

const server = (bin: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      PostgresServer.start(bin, join(inject("scratch"), "faults"), { fsync: "off", max_connections: 100 })
    ),
    (running) => Effect.promise(() => running.stop())
  )

const countByOutcome = (observations: ReadonlyArray<Observation>): { readonly [outcome: string]: number } =>
  Object.fromEntries(
    Object.entries(Object.groupBy(observations, ({ outcome }) => outcome)).map(([outcome, all]) => [
      outcome,
      all.length
    ])
  )

const suite = Effect.fnUntraced(function* (bin: string) {
  const postgres = yield* server(bin)
  const jobs = new Jobs(20)
  const environment = { ...(yield* jobs.install), DATABASE_URL: postgres.url, RATE_LIMIT_RPM: "1000000" }
  const payers = yield* Accounts.payers(postgres.url, ["1000", "1000", "1000", "1000", "0.01"])
  const ports = yield* Effect.promise(() => Promise.all([PostgresServer.freePort(), PostgresServer.freePort()]))
  const open = (port: number) => () => new GatewayProcess(port, environment)
  const replicas = ports.map((port) => new Replica(open(port)))
  const observations: Array<Observation> = []
  let continues = true
  const { cuts, outages } = yield* Effect.promise(async () => {
    await Promise.all(replicas.map((replica) => replica.ready()))
    const all = Array.from({ length: clients }, () =>
      load(replicas, payers, observations, { continues: () => continues, expireClaim: expireClaim(postgres.url) })
    )
    const done = await injectFaults(replicas, postgres, () => Effect.runPromise(cutConnections(postgres.url)))
    continues = false
    await Promise.all(all)
    await Promise.all(replicas.map((replica) => replica.close()))
    await sweep(postgres.url, open(ports[0] ?? 0))
    return done
  })
  const accounts = yield* Accounts.readAccounts(postgres.url)
  const audit = yield* Effect.promise(() => ledgerVerify(postgres.url))
  const lost = Accounts.uncharged(accounts, observations)
  const starts = replicas.reduce((sum, replica) => sum + replica.starts, 0)
  const { charges, drift, entries, held, holds } = accounts
  console.log({ kills: kills + replicas.length, starts, crashes: outages.length, cuts, requests: observations.length })
  console.log(countByOutcome(observations))
  console.log({ charges: charges.size, entries, drift: drift.length, holds, lost: lost.length })
  console.log(audit.output.replaceAll(/^  .*\n/gm, ""))
  assert.strictEqual(audit.code, 0, audit.output)
  assert.deepStrictEqual([drift, holds, held], [[], 0, 0n])
  assert.deepStrictEqual(Accounts.wrongCharges(accounts, observations, jobs), [])
  // A charge waits for a database that is away for one second, and then its answer goes out without it.
  const unexplained = lost.filter(({ at }) => !outages.some(([from, to]) => from < at && at < to))
  assert.deepStrictEqual(unexplained, [])
  assert.notMatch(readFileSync(postgres.log, "utf8"), /deadlock detected/)
})

const bin = PostgresServer.binaries()

describe.skipIf(bin === undefined)("Gateways that are killed", () => {
  it.live(
    `leave accounts that agree, no holds, and a charge for exactly what was answered, after ${kills} kills`,
    () => suite(bin ?? "").pipe(Effect.scoped, Effect.provide(FakeProvider.layer)),
    180_000 + kills * 30_000
  )
})
