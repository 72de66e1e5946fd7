/**
 * SIGTERM while requests are at every point of their life. What can be finished within the limit is; what cannot costs
 * nothing, for it is the gateway that left; and the process ends well with nothing on hold.
 */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import * as ScriptedProvider from "../support/ScriptedProvider.ts"
import * as Books from "./Books.ts"
import { ask, type Told } from "./Client.ts"
import { type Fate, Upstream } from "./Upstream.ts"

const rounds = 4
const requests = 40
/** How long requests may take to begin, in milliseconds, so that the signal meets them at every point. */
const spread = 600

const fates: ReadonlyArray<Fate> = ["answers", "answers", "answers", "flaky", "cut", "hangs"]

const fateOf = (job: number): Fate => fates[job % fates.length] ?? "answers"
const isStream = (job: number): boolean => job % 4 < 2

/** Asks for everything at once, and terminates the gateway in the midst of it. */
const round = async (gateway: GatewayProcess, payer: Books.Payer, upstream: Upstream, told: Array<Told>) => {
  assert.isTrue(await gateway.ready, gateway.lines.join(""))
  const jobs = Array.from({ length: requests }, (_, index) => told.length + index)
  const asked = jobs.map(async (job) => {
    await pause(Math.random() * spread)
    return ask({ job, fate: fateOf(job), stream: isStream(job), url: gateway.url, key: payer.key })
  })
  // However slow the machine: by then requests are being answered, and a stream is open that only the limit ends.
  const endless = jobs.filter((job) => isStream(job) && fateOf(job) === "hangs")
  while (gateway.listens && !endless.some((job) => upstream.productions.get(job)?.begun)) await pause(5)
  await pause((Math.random() * spread) / 2)
  const code = await gateway.terminate()
  assert.strictEqual(code, 0, gateway.lines.join(""))
  told.push(...(await Promise.all(asked)))
}

const suite = Effect.fnUntraced(function* (bin: string) {
  const postgres = yield* Effect.acquireRelease(
    Effect.promise(() =>
      PostgresServer.start(bin, join(inject("scratch"), "shutdown"), { fsync: "off", max_connections: 50 })
    ),
    (server) => Effect.promise(() => server.stop())
  )
  const upstream = new Upstream(40)
  const environment = { ...(yield* upstream.install), DATABASE_URL: postgres.url, SHUTDOWN_TIMEOUT: "2 seconds" }
  const [payer] = yield* Books.payers(postgres.url, ["1000"])
  const told: Array<Told> = []
  yield* Effect.promise(async () => {
    for (let count = 0; count < rounds; count++) {
      const gateway = new GatewayProcess(await PostgresServer.freePort(), environment)
      if (payer !== undefined) await round(gateway, payer, upstream, told)
    }
  })
  const books = yield* Books.read(postgres.url)
  const outcomes = Object.groupBy(told, ({ outcome }) => outcome)
  const figures = Object.entries(outcomes).map(([outcome, all]) => [outcome, all.length])
  console.log({ rounds, ...Object.fromEntries(figures), charges: books.charges.size, holds: books.holds })
  assert.deepStrictEqual([books.drift, books.holds, books.held], [[], 0, 0n])
  assert.deepStrictEqual(Books.faultsIn(books, told, upstream), [])
  assert.deepStrictEqual(Books.unbooked(books, told), [])
  // Without these the signal came too early or too late to prove anything.
  assert.isAbove(outcomes.answered?.length ?? 0, 0)
  assert.isAbove(outcomes.stopped?.length ?? 0, 0)
  // Connections that nobody has accepted when the port closes are reset by the kernel: no gateway knows of them. Every
  // request that arrived has a proper end.
  const arrived = ({ id, job }: Told): boolean => id !== undefined || upstream.productions.has(job)
  assert.deepStrictEqual(outcomes.cut?.filter(arrived) ?? [], [], "requests that just stopped")
})

const bin = PostgresServer.binaries()

describe.skipIf(bin === undefined)("A gateway that is asked to go", () => {
  it.live(
    `finishes what it can, charges for nothing else, and holds nothing, ${rounds} times`,
    () => suite(bin ?? "").pipe(Effect.scoped, Effect.provide(ScriptedProvider.layer)),
    120_000
  )
})
