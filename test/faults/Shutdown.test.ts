/**
 * SIGTERM while requests are at every point of their life. What can be finished within the limit is; what cannot costs
 * nothing, for it is the gateway that left; and the process ends well with nothing on hold.
 */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import * as PostgresServer from "../support/PostgresServer.ts"
import * as ScriptedProvider from "../support/ScriptedProvider.ts"
import * as Books from "./Books.ts"
import { ask, type Told } from "./Client.ts"
import { GatewayProcess } from "./GatewayProcess.ts"
import { type Fate, Upstream } from "./Upstream.ts"

const rounds = 4
const requests = 40
/** How long requests may take to begin, in milliseconds, so that the signal meets them at every point. */
const spread = 300

const fates: ReadonlyArray<Fate> = ["answers", "answers", "answers", "flaky", "cut", "hangs"]

const fateOf = (job: number): Fate => fates[job % fates.length] ?? "answers"

/** Asks for everything at once, and terminates the gateway in the midst of it. */
const round = async (gateway: GatewayProcess, payer: Books.Payer, told: Array<Told>): Promise<void> => {
  assert.isTrue(await gateway.ready, gateway.lines.join(""))
  const first = told.length
  const asked = Array.from({ length: requests }, async (_, index) => {
    await pause(Math.random() * spread)
    const job = first + index
    return ask({ job, fate: fateOf(job), stream: job % 4 < 2, url: gateway.url, key: payer.key })
  })
  await pause(50 + Math.random() * spread)
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
  const environment = { ...(yield* upstream.install), DATABASE_URL: postgres.url, SHUTDOWN_TIMEOUT: "1 second" }
  const [payer] = yield* Books.payers(postgres.url, ["1000"])
  const port = yield* Effect.promise(PostgresServer.freePort)
  const told: Array<Told> = []
  yield* Effect.promise(async () => {
    for (let count = 0; count < rounds; count++) {
      if (payer !== undefined) await round(new GatewayProcess(port, environment), payer, told)
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
  assert.deepStrictEqual(
    outcomes.cut?.filter(({ id, stream }) => stream && id !== undefined) ?? [],
    [],
    "streams that just stopped"
  )
})

const bin = PostgresServer.binaries()

describe.skipIf(bin === undefined)("A gateway that is asked to go", () => {
  it.live(
    `finishes what it can, charges for nothing else, and holds nothing, ${rounds} times`,
    () => suite(bin ?? "").pipe(Effect.scoped, Effect.provide(ScriptedProvider.layer)),
    60_000
  )
})
