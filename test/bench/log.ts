/**
 * What operators ask of a log of a million requests, `npm run bench -- log`: fills a PostgreSQL with the traffic of a
 * month, asks every list and report through the services that answer them, and prints how long each took. A number is
 * that of the rows; `requests`, `usage`, `others` and `write` are the parts, of which all are measured if none is
 * named; `--json` prints JSON. `BENCH_DATABASE_URL` names a database that is filled if its log is empty, and kept.
 */
import { randomUUID } from "node:crypto"
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"

import { Clock, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { organizationId, requestId } from "../../src/domain/Ids.ts"
import { Payments } from "../../src/ledger/Payments.ts"
import { insertLatest, logParameters } from "../../src/receipts/LogColumns.ts"
import { type LoggedRequestFilter, LoggedRequests } from "../../src/receipts/LoggedRequests.ts"
import { sumUsageDays } from "../../src/receipts/UsageDays.ts"
import { type UsageDimension, usageDimensions, UsageReports } from "../../src/receipts/UsageReports.ts"
import { Database } from "../../src/sql/Database.ts"
import { quantile } from "../../tools/router-training/Metrics.ts"
import { receiptOf } from "../receipts/receipts.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import { fillLog, sampleId } from "../support/SampleLog.ts"

const words = process.argv.slice(3)
const rows = Number(words.find((word) => /^\d+$/.test(word)) ?? "1000000")
const asJson = words.includes("--json")
const only = words.filter((word) => /^[a-z]+$/.test(word))
const asked = (part: string): boolean => only.length === 0 || only.includes(part)
const rounds = Number(process.env["BENCH_ROUNDS"] ?? "7")
const days = 30
const dayMillis = 86_400_000

/** The busiest organization and a quiet one. */
const [busy, quiet] = [sampleId("organization", 0), sampleId("organization", 7)].map((id) => organizationId(id))

interface Timing {
  readonly query: string
  /** How long the server computed, which is less than the time that passed where others use the machine. */
  readonly serverMillis: number
  readonly medianMillis: number
  readonly worstMillis: number
  readonly rows: number
}

const timings: Array<Timing> = []

const say = (text: string) => process.stderr.write(`${text}\n`)

/** How long the connections of this bench have computed, without parallel workers; zero where the system hides it. */
const serverMillis = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const connections = yield* sql<{ readonly pid: number }>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    UNION SELECT pg_backend_pid()`
  return connections.reduce((sum, { pid }) => sum + computedBy(pid), 0)
})

const computedBy = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6
  } catch {
    return 0
  }
}

/** Asks once without counting, as a page that is looked at again, and then several times. */
const timed = Effect.fnUntraced(function* <E, R>(query: string, ask: Effect.Effect<number, E, R>) {
  const millis: Array<number> = []
  let found = yield* ask
  const computed = yield* serverMillis
  for (let count = 0; count < rounds; count++) {
    const startedAt = performance.now()
    found = yield* ask
    millis.push(performance.now() - startedAt)
  }
  timings.push({
    query,
    serverMillis: ((yield* serverMillis) - computed) / rounds,
    medianMillis: quantile(millis, 0.5),
    worstMillis: Math.max(...millis),
    rows: found
  })
})

const requestLists: Record<string, LoggedRequestFilter> = {
  "first page": {},
  "busy organization": { organization: busy },
  "quiet organization": { organization: quiet },
  "project of a quiet organization": { project: "018e0000-0000-7000-8000-000000000007" },
  "environment of a quiet organization": { environment: "018d0000-0000-7000-8000-000000000007" },
  api_key: { key: sampleId("key", 120) },
  "frequent model": { model: "model-0" },
  "rare model": { model: "model-39" },
  provider: { provider: "p5" },
  endpoint: { endpoint: "p7/model-39" },
  "outcome completed": { outcome: "completed" },
  "outcome broken": { outcome: "broken" },
  "frequent call_name": { callName: "call-0" },
  "rare call_name": { callName: "call-4999" },
  "rare end_user_id": { endUserId: "user-19999" },
  "failed over": { failedOver: true },
  pinned: { pinned: true },
  streamed: { stream: true },
  routed: { routed: true },
  "highest costs": { minCost: 8_999_000_000n },
  longest: { minDurationMillis: 30_199 },
  "a model that nothing matches": { model: "nobody" },
  "a label that nothing matches": { callName: "nobody" },
  "an outcome that nothing matches": { outcome: "nothing" },
  "busy organization, highest costs": { organization: busy, minCost: 8_999_000_000n },
  "busy organization, model that nothing matches": { organization: busy, model: "nobody" },
  "failures of a quiet organization's model": { organization: quiet, outcome: "broken", model: "model-39" },
  "all filters": {
    organization: busy,
    outcome: "broken",
    failedOver: true,
    provider: "p1",
    callName: "call-0",
    stream: true,
    routed: true,
    minCost: 1n,
    maxDurationMillis: 1_000
  }
}

const askRequests = (fromMillis: number) =>
  Effect.gen(function* () {
    const { get, list } = yield* LoggedRequests
    for (const [name, filter] of Object.entries(requestLists)) {
      yield* timed(
        `requests: ${name}`,
        Effect.map(list({ fromMillis, filter }, { limit: 50 }), ({ items }) => items.length)
      )
    }
    let cursor: string | undefined
    for (let page = 1; page < 500; page++)
      cursor = (yield* list({ fromMillis, filter: {} }, { limit: 50, cursor })).next
    const deep = list({ fromMillis, filter: {} }, { limit: 50, cursor })
    yield* timed(
      "requests: page 500",
      Effect.map(deep, ({ items }) => items.length)
    )
    const id = requestId(cursor ?? "")
    yield* timed(
      "one receipt",
      Effect.map(get(id), () => 1)
    )
  })

const askUsage = (fromMillis: number, toMillis: number) =>
  Effect.gen(function* () {
    const { report } = yield* UsageReports
    const count = (groupBy: ReadonlyArray<UsageDimension>, interval?: "hour" | "day", filter = {}) =>
      report({ fromMillis, toMillis, interval, timeZone: "Europe/Berlin", groupBy, filter }).pipe(
        Effect.map(({ length }) => length),
        Effect.catchIf(
          ({ reason }) => reason === "TooLong",
          () => Effect.succeed(-1)
        )
      )
    yield* timed("usage: total", count([]))
    for (const interval of ["hour", "day"] as const) {
      for (const dimension of usageDimensions) {
        yield* timed(`usage: by ${interval} and ${dimension}`, count([dimension], interval))
      }
    }
    for (const dimension of usageDimensions) {
      yield* timed(
        `usage: by ${dimension}, busy organization`,
        count([dimension], undefined, { organization_id: busy })
      )
    }
    for (const dimension of usageDimensions) yield* timed(`usage: by ${dimension}`, count([dimension]))
    yield* timed("usage: by organization_id and model", count(["organization_id", "model"]))
    yield* timed("usage: by day, one call_name", count([], "day", { call_name: "call-17" }))
    yield* timed("usage: by day, one end user", count([], "day", { end_user_id: "user-17" }))
    yield* timed("usage: by day and call_name, quiet", count(["call_name"], "day", { organization_id: quiet }))
  })

const askOthers = Effect.gen(function* () {
  const payments = yield* Payments
  const page = { limit: 50 }
  const lengthOf = <A, E>(asked: Effect.Effect<{ readonly items: ReadonlyArray<A> }, E>) =>
    Effect.map(asked, ({ items }) => items.length)
  for (const [name, organization] of [
    ["busy", busy],
    ["quiet", quiet]
  ] as const) {
    if (organization === undefined) continue
    yield* timed(`journal: ${name}`, lengthOf(payments.journal(organization, page)))
    yield* timed(`holds: ${name}`, lengthOf(payments.openHolds(organization, page)))
  }
  const trail = yield* AuditTrail
  yield* timed("audit: first page", lengthOf(trail.list({}, page)))
  yield* timed("audit: one organization", lengthOf(trail.list({ organization: quiet }, page)))
  const keys = yield* ApiKeys
  yield* timed("keys: 200", lengthOf(keys.list({}, { limit: 200 })))
})

/** Batches as gateways write them. */
const write = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const batch = Effect.gen(function* () {
    const atMillis = yield* Clock.currentTimeMillis
    const receipts = Array.from({ length: 500 }, (_, number) => ({
      ...receiptOf(number),
      organization: busy ?? receiptOf(number).organization,
      id: requestId(SecureRandom.uuidV7Unsafe()),
      atMillis,
      callName: `call-${number % 50}`,
      endUserId: `user-${number}`
    }))
    yield* sql.unsafe(insertLatest, logParameters(receipts))
    return receipts.length
  })
  for (let count = 0; count < 5; count++) yield* batch
  yield* timed("write: a batch of 500 receipts", batch)
})

const addOperators = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO audit_event (id, at, actor, action, subject_id, organization_id)
    SELECT gen_random_uuid(), now(), 'bench', 'api_key.update', gen_random_uuid(),
      ('018f0000-0000-7000-8000-' || lpad(to_hex(n % 50), 12, '0'))::uuid FROM generate_series(1, 100000) AS n`
  yield* sql`INSERT INTO credit_hold (id, organization_id, amount, gateway_id, expires_at)
    SELECT gen_random_uuid(), ('018f0000-0000-7000-8000-' || lpad(to_hex(n % 50), 12, '0'))::uuid, 1,
      ${randomUUID()}::uuid, now() + interval '1 hour' FROM generate_series(1, 5000) AS n`
  yield* sql`ANALYZE audit_event, credit_hold`
})

const sizes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{
    readonly relation: string
    readonly rows: string
    readonly table: string
    readonly indexes: string
  }>`
    SELECT coalesce(parent.relname, part.relname) AS relation, sum(part.reltuples)::bigint::text AS rows,
      sum(pg_table_size(part.oid))::text AS table, sum(pg_indexes_size(part.oid))::text AS indexes
    FROM pg_class AS part
      LEFT JOIN pg_inherits ON inhrelid = part.oid LEFT JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE part.relkind = 'r'
      AND (coalesce(parent.relname, part.relname) IN ('logged_request', 'credit_entry') OR part.relname ~ '^usage_')
    GROUP BY 1 ORDER BY 1`
})

const indexSizes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly index: string; readonly bytes: string }>`
    SELECT parent.relname AS index, sum(pg_relation_size(part.oid))::text AS bytes
    FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE parent.relkind = 'I' AND parent.relname LIKE 'logged_request%' GROUP BY 1 ORDER BY 1`
})

const bench = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const nowMillis = yield* Clock.currentTimeMillis
  const [stored] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM logged_request`
  if (stored?.count === 0n) {
    const startedAt = performance.now()
    yield* fillLog({ rows, days, nowMillis })
    yield* addOperators
    yield* sumUsageDays(nowMillis)
    // Scans of indexes alone need the map of what is visible, which a database at work has.
    yield* sql`VACUUM`
    say(`${rows} rows in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`)
  }
  const stores = { relations: yield* sizes, indexes: yield* indexSizes }
  const fromMillis = nowMillis - 31 * dayMillis
  if (asked("requests")) yield* askRequests(fromMillis)
  if (asked("usage")) yield* askUsage(nowMillis - 30 * dayMillis, nowMillis)
  if (asked("others")) yield* askOthers
  if (asked("write")) yield* write
  if (asJson) return console.log(JSON.stringify({ rows, timings, ...stores }, null, 2))
  const round = (value: number) => Math.round(value * 10) / 10
  console.table(
    timings.map(({ medianMillis, query, rows, serverMillis, worstMillis }) => ({
      query,
      "server ms": round(serverMillis),
      "median ms": round(medianMillis),
      "worst ms": round(worstMillis),
      rows
    }))
  )
  console.table(
    stores.relations.map(({ relation, rows, table, indexes }) => ({
      relation,
      rows,
      "table MB": round(Number(table) / 1e6),
      "indexes MB": round(Number(indexes) / 1e6)
    }))
  )
  console.table(stores.indexes.map(({ bytes, index }) => ({ index, MB: round(Number(bytes) / 1e6) })))
})

const services = Layer.mergeAll(LoggedRequests.layer, UsageReports.layer, Payments.layer, ApiKeys.layer).pipe(
  Layer.provideMerge(AuditTrail.layer),
  Layer.provideMerge(SecureRandom.layerWebCrypto)
)

const run = (url: string) =>
  Effect.runPromise(
    bench.pipe(
      Effect.provide(
        services.pipe(Layer.provideMerge(Database.layer({ url: Redacted.make(url), dataDir: "unused", poolSize: 1 })))
      )
    )
  )

const given = process.env["BENCH_DATABASE_URL"]
const bin = PostgresServer.binaries()
if (given !== undefined) await run(given)
else if (bin === undefined) {
  console.error("This needs PostgreSQL: initdb and pg_ctl were not found")
  process.exitCode = 2
} else {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  chmodSync(directory, 0o755)
  const server = await PostgresServer.start(bin, join(directory, "postgres"), {
    max_connections: 50,
    shared_buffers: "512MB",
    max_wal_size: "8GB"
  })
  try {
    await run(server.url)
  } finally {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
