/**
 * Holding and settling through the ledger against one statement per request, `npm run bench -- ledger`: 64 callers, on
 * a PostgreSQL that flushes every commit, for one busy organization and for a thousand. Rounds alternate between the
 * two and the medians are compared, so that whatever else the machine does affects both. The ratios can be compared
 * between machines; the absolute figures cannot.
 */
import { randomUUID } from "node:crypto"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import process from "node:process"

import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"

import { organizationId, type OrganizationId, type RequestId, requestId } from "../../src/domain/Ids.ts"
import { type Picodollars, picodollars } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { accountMismatches } from "../../src/ledger/LedgerChecks.ts"
import { Database } from "../../src/sql/Database.ts"
import { quantile } from "../../tools/router-training/Metrics.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

const callers = 64
const organizationCount = 1_000
const singleConnections = 16
const rounds = Number(process.env["BENCH_ROUNDS"] ?? "7")
const roundMillis = Number(process.env["BENCH_ROUND_MILLIS"] ?? "2000")
const warmUpMillis = 500

/**
 * Ids in ascending order, as the gateway makes them: with random ones both sides would pay for half-full index pages.
 */
const newRequest = () => requestId(SecureRandom.uuidV7Unsafe())

const held = picodollars(50_000_000n)
const charged = picodollars(20_000_000n)
const credit = picodollars(4_000_000_000_000_000_000n)

/** What the gateway stores with a charge is of this size. */
const facts = JSON.stringify({
  project: randomUUID(),
  environment: randomUUID(),
  key: randomUUID(),
  atMillis: 1_700_000_000_000,
  stream: false,
  outcome: "completed",
  served: { model: "gpt-4.1-mini", endpoint: "openai/gpt-4.1-mini" },
  usage: { input: 1_000, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, audioInput: 0, output: 300, reasoning: 100 },
  usageEstimated: false,
  catalogVersion: "0123456789ab",
  held: String(held),
  durationMillis: 1_234
})

/** Holds and settles once. */
type Pair<R = never> = (request: RequestId, organization: OrganizationId) => Effect.Effect<void, unknown, R>

interface Round {
  readonly pairsPerSecond: number
  /** How late timers fired, in milliseconds: the maximum and the 99th percentile. */
  readonly delayMillis: { readonly max: number; readonly p99: number }
  /** Share of one core that this process used. */
  readonly cpu: number
}

const round = Effect.fnUntraced(function* <R>(pair: Pair<R>, organizations: ReadonlyArray<OrganizationId>) {
  let pairs = 0
  let continues = true
  const caller = Effect.gen(function* () {
    while (continues) {
      const organization = organizations[Math.floor(Math.random() * organizations.length)]
      if (organization === undefined) return
      yield* pair(newRequest(), organization)
      pairs++
    }
  })
  const measure = Effect.gen(function* () {
    yield* Effect.sleep(warmUpMillis)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    const [before, usage, startedAt] = [pairs, process.cpuUsage(), performance.now()]
    delay.enable()
    yield* Effect.sleep(roundMillis)
    delay.disable()
    const seconds = (performance.now() - startedAt) / 1_000
    const { system, user } = process.cpuUsage(usage)
    const measured = pairs - before
    continues = false
    return {
      pairsPerSecond: measured / seconds,
      delayMillis: { max: delay.max / 1e6, p99: delay.percentile(99) / 1e6 },
      cpu: (user + system) / 1e6 / seconds
    } satisfies Round
  })
  const all = Effect.forEach(Array.from({ length: callers }), () => caller, { concurrency: "unbounded", discard: true })
  const [figures] = yield* Effect.all([measure, all], { concurrency: "unbounded" })
  return figures
})

const throughService: Pair<CreditLedger> = (request, organization) =>
  Effect.scoped(
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const hold = yield* ledger.hold({ request, organization, amount: held })
      yield* hold.settle(charged, facts)
    })
  )

/**
 * The baseline, in its fair form: each hold and each settlement is one statement that does all of it, and one commit.
 */
const singleHold = `
WITH account AS (
  UPDATE credit_account SET balance = balance - $3::bigint, held = held + $3::bigint
  WHERE organization_id = $2::uuid AND balance > 0 RETURNING organization_id
)
INSERT INTO credit_hold (id, organization_id, amount, gateway_id, expires_at)
SELECT $1::uuid, organization_id, $3::bigint, $4::uuid, now() + interval '1 hour' FROM account`

const singleSettle = `
WITH hold AS (
  DELETE FROM credit_hold WHERE id = $1::uuid AND organization_id = $2::uuid RETURNING amount
), entry AS (
  INSERT INTO credit_entry (id, organization_id, kind, amount) VALUES ($1::uuid, $2::uuid, 'charge', -$3::bigint)
  ON CONFLICT DO NOTHING RETURNING amount
)
UPDATE credit_account
SET balance = balance + coalesce((SELECT amount FROM hold), 0) + coalesce((SELECT amount FROM entry), 0),
    held = held - coalesce((SELECT amount FROM hold), 0)
WHERE organization_id = $2::uuid`

/** The lease outlasts the benchmark; otherwise the ledger's sweeper would refund these holds. */
const singleStatements = Effect.fnUntraced(function* (url: string) {
  const sql = yield* PgClient.make({
    url: Redacted.make(url),
    minConnections: singleConnections,
    maxConnections: singleConnections
  })
  const gateway = randomUUID()
  yield* sql`INSERT INTO gateway_lease (id, heartbeat_at) VALUES (${gateway}::uuid, now() + interval '1 day')`
  const run = (
    statement: string,
    request: RequestId,
    organization: OrganizationId,
    amount: Picodollars,
    ...more: [string?]
  ) => sql.unsafe(statement, [request, organization, amount, ...more])
  return ((request, organization) =>
    Effect.andThen(
      run(singleHold, request, organization, held, gateway),
      run(singleSettle, request, organization, charged)
    )) satisfies Pair
})

/** Organizations with more credit than the benchmark can spend. */
const fund = Effect.fnUntraced(function* (count: number) {
  const ledger = yield* CreditLedger
  const organizations = Array.from({ length: count }, () => organizationId(randomUUID()))
  yield* Effect.forEach(
    organizations,
    (organization) => ledger.grant({ payment: requestId(randomUUID()), organization, amount: credit }),
    { concurrency: 8, discard: true }
  )
  return organizations
})

const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

const summary = (figures: ReadonlyArray<Round>) => ({
  pairs: median(figures.map(({ pairsPerSecond }) => pairsPerSecond)),
  "pairs/s": Math.round(median(figures.map(({ pairsPerSecond }) => pairsPerSecond))),
  "node cpu": median(figures.map(({ cpu }) => cpu)).toFixed(2),
  "loop delay ms, p99": median(figures.map(({ delayMillis }) => delayMillis.p99)).toFixed(1),
  "loop delay ms, max": Math.max(...figures.map(({ delayMillis }) => delayMillis.max)).toFixed(1)
})

const organizationSets = Effect.gen(function* () {
  return { "1 organization": yield* fund(1), "1,000 organizations": yield* fund(organizationCount) }
})

const table: Array<object> = []
const report = (engine: string, organizations: string, form: string, figures: ReadonlyArray<Round>, ratio?: string) => {
  const { pairs: _, ...row } = summary(figures)
  table.push({ engine, organizations, form, ...row, ratio: ratio ?? "" })
}

const onPostgres = (url: string) =>
  Effect.gen(function* () {
    const single = yield* singleStatements(url)
    for (const [name, organizations] of Object.entries(yield* organizationSets)) {
      const [service, baseline]: [Array<Round>, Array<Round>] = [[], []]
      for (let count = 0; count < rounds; count++) {
        baseline.push(yield* round(single, organizations))
        service.push(yield* round(throughService, organizations))
      }
      const ratio = summary(service).pairs / summary(baseline).pairs
      report("PostgreSQL", name, "one statement each", baseline)
      report("PostgreSQL", name, "CreditLedger", service, `${ratio.toFixed(1)}x`)
    }
    return yield* accountMismatches
  })

const embedded = Effect.gen(function* () {
  for (const [name, organizations] of Object.entries(yield* organizationSets)) {
    const service: Array<Round> = []
    for (let count = 0; count < Math.ceil(rounds / 2); count++)
      service.push(yield* round(throughService, organizations))
    report("embedded", name, "CreditLedger", service)
  }
  return yield* accountMismatches
})

const services = <E>(database: Layer.Layer<Database | SqlClient.SqlClient, E>) =>
  CreditLedger.layer.pipe(
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.provideMerge(database),
    Layer.merge(Reactivity.layer)
  )

const main = async (): Promise<void> => {
  const bin = PostgresServer.binaries()
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  // PostgreSQL may run as another user, who must be able to enter the directory.
  chmodSync(directory, 0o755)
  try {
    if (bin === undefined) console.log("No PostgreSQL was found on this machine: only the embedded engine is measured.")
    else {
      const server = await PostgresServer.start(bin, join(directory, "postgres"), { max_connections: 60 })
      const database = Database.layer({ url: Redacted.make(server.url), dataDir: "unused", poolSize: 8 })
      const drift = await Effect.runPromise(Effect.scoped(Effect.provide(onPostgres(server.url), services(database))))
      await server.stop()
      console.log(`drift: ${drift.length}`)
    }
    const memory = Database.layer({ dataDir: join(directory, "embedded"), poolSize: 1 })
    const drift = await Effect.runPromise(Effect.provide(embedded, services(memory)))
    console.log(`drift: ${drift.length}`)
    console.table(table)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
