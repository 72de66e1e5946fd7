/**
 * Two gateways on one PostgreSQL, under load, while gateways are killed, the server crashes and connections are cut.
 * `FAULT_KILLS` says how many gateways are killed: few in every run of the tests, fifty in `npm run test:faults`.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"

import { audit, GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import * as ScriptedProvider from "../support/ScriptedProvider.ts"
import * as Books from "./Books.ts"
import { ask, type Told } from "./Client.ts"
import { fates, Upstream } from "./Upstream.ts"

const kills = Number(process.env["FAULT_KILLS"] ?? "10")
const callers = 24
const oneIn = (chances: number) => Math.random() * chances < 1
const upTo = (limit: number) => Math.floor(Math.random() * limit)

/** One place where a gateway runs; whenever it ends, another is started. */
class Place {
  gateway: GatewayProcess
  starts = 0
  private readonly open: () => GatewayProcess
  private isOpen = true

  constructor(open: () => GatewayProcess) {
    this.open = open
    this.gateway = this.start()
  }

  private start(): GatewayProcess {
    this.starts++
    const gateway = this.open()
    void gateway.ended.then(() => {
      if (this.isOpen) this.gateway = this.start()
    })
    return gateway
  }

  /** Waits for a gateway that answers. */
  async ready(): Promise<void> {
    while (!(await this.gateway.ready)) await pause(10)
  }

  close(): Promise<number | null> {
    this.isOpen = false
    return this.gateway.kill()
  }
}

/** Asks one thing after the other until told to stop. */
const calls = async (
  places: ReadonlyArray<Place>,
  payers: ReadonlyArray<Books.Payer>,
  told: Array<Told>,
  goesOn: () => boolean
) => {
  while (goesOn()) {
    const up = places.filter(({ gateway }) => gateway.listens)
    const place = up[upTo(up.length)]
    const payer = payers[upTo(payers.length)]
    if (place === undefined || payer === undefined) {
      await pause(20)
      continue
    }
    const job = told.length
    const stream = oneIn(2)
    const one: Told = { job, stream, outcome: "cut", at: 0 }
    told.push(one)
    Object.assign(
      one,
      await ask({
        job,
        stream,
        fate: fates[upTo(fates.length)] ?? "answers",
        url: place.gateway.url,
        key: payer.key,
        leaveAfter: oneIn(6) ? upTo(stream ? 8 : 100) : undefined
      })
    )
    if (one.outcome === "unreachable" || one.outcome === "refused") await pause(20)
  }
}

/** The second that a charge waits for a database that is away, and what busy processes take to pass its answer on. */
const aftermathMillis = 1_500

/** While the server was down and coming back, in milliseconds since the epoch. */
type Outage = readonly [from: number, to: number]

/** Kills gateways one after the other, and in between crashes the server or cuts all its connections. */
const havoc = async (
  places: ReadonlyArray<Place>,
  server: PostgresServer.PostgresServer,
  cut: () => Promise<number>
) => {
  const outages: Array<Outage> = []
  let cuts = 0
  for (let killed = 0; killed < kills; killed++) {
    const place = places[upTo(places.length)]
    await place?.ready()
    await pause(upTo(500))
    if (killed % 5 === 2) {
      const from = Date.now()
      await server.crash()
      outages.push([from, Date.now() + aftermathMillis])
    } else if (killed % 5 === 4) cuts += await cut()
    await pause(upTo(100))
    await place?.gateway.kill()
  }
  return { outages, cuts }
}

/** The last gateway to go is asked nicely: what is left when it has gone is left for ever. */
const sweepUp = async (url: string, open: () => GatewayProcess): Promise<void> => {
  await Effect.runPromise(Books.passLeases(url))
  const last = open()
  assert.isTrue(await last.ready, last.lines.join(""))
  assert.strictEqual(await last.terminate(), 0, last.lines.join(""))
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

const count = (told: ReadonlyArray<Told>): { readonly [outcome: string]: number } =>
  Object.fromEntries(
    Object.entries(Object.groupBy(told, ({ outcome }) => outcome)).map(([outcome, all]) => [outcome, all.length])
  )

const suite = Effect.fnUntraced(function* (bin: string) {
  const postgres = yield* server(bin)
  const upstream = new Upstream(20)
  const environment = { ...(yield* upstream.install), DATABASE_URL: postgres.url, RATE_LIMIT_RPM: "1000000" }
  const payers = yield* Books.payers(postgres.url, ["1000", "1000", "1000", "1000", "0.01"])
  const ports = yield* Effect.promise(() => Promise.all([PostgresServer.freePort(), PostgresServer.freePort()]))
  const open = (port: number) => () => new GatewayProcess(port, environment)
  const places = ports.map((port) => new Place(open(port)))
  const told: Array<Told> = []
  let goesOn = true
  const { cuts, outages } = yield* Effect.promise(async () => {
    await Promise.all(places.map((place) => place.ready()))
    const load = Array.from({ length: callers }, () => calls(places, payers, told, () => goesOn))
    const done = await havoc(places, postgres, () => Effect.runPromise(cutConnections(postgres.url)))
    goesOn = false
    await Promise.all(load)
    await Promise.all(places.map((place) => place.close()))
    await sweepUp(postgres.url, open(ports[0] ?? 0))
    return done
  })
  const books = yield* Books.read(postgres.url)
  const verdict = yield* Effect.promise(() => audit(postgres.url))
  const lost = Books.unbooked(books, told)
  const starts = places.reduce((sum, place) => sum + place.starts, 0)
  const figures = { kills: kills + places.length, starts, crashes: outages.length, cuts, requests: told.length }
  const { charges, drift, holds, rows } = books
  console.log({
    ...figures,
    ...count(told),
    charges: charges.size,
    rows,
    drift: drift.length,
    holds,
    lost: lost.length
  })
  console.log(verdict.says.replaceAll(/^  .*\n/gm, ""))
  assert.strictEqual(verdict.code, 0, verdict.says)
  assert.deepStrictEqual([drift, holds, books.held], [[], 0, 0n])
  assert.deepStrictEqual(Books.faultsIn(books, told, upstream), [])
  // A charge waits for a database that is away for one second, and then its answer goes out without it.
  const unexplained = lost.filter(({ at }) => !outages.some(([from, to]) => from < at && at < to))
  assert.deepStrictEqual(unexplained, [])
  assert.notMatch(readFileSync(postgres.log, "utf8"), /deadlock detected/)
})

const bin = PostgresServer.binaries()

describe.skipIf(bin === undefined)("Gateways that are killed", () => {
  it.live(
    `leave books that agree, no holds, and exactly the charges of what was answered, after ${kills} kills`,
    () => suite(bin ?? "").pipe(Effect.scoped, Effect.provide(ScriptedProvider.layer)),
    60_000 + kills * 6_000
  )
})
