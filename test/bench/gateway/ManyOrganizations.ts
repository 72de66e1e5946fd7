/** What a gateway that has grown costs beside one with one of each, and what one hot organization costs on it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { organizationId } from "../../../src/domain/Ids.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import { Payments } from "../../../src/ledger/Payments.ts"
import { Database } from "../../../src/sql/Database.ts"
import { type Figure, ratiosOf } from "./BenchFigures.ts"
import type { NextCall } from "./BenchLoad.ts"
import { type Bench, type BenchScenario, inTurn, type StartedGateway } from "./BenchScenario.ts"
import { chat } from "./ChatScenarios.ts"

const organizationCount = 1_000
const keysEach = 10
const modelsPerOrganization = 0.2
const creditEach = picodollars(1_000_000_000_000_000n)

/** How much of each a gateway has. */
interface Size {
  readonly organizations: number
  readonly keys: number
  readonly models: number
}

const sizeOf = (organizations: number): Size => ({
  organizations,
  keys: organizations === 1 ? 1 : organizations * keysEach,
  models: Math.ceil(organizations * modelsPerOrganization)
})

const idOf = (number: number): string => `018f0000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`
const secretOf = (key: number): string => `tg-bench-${key}`
const modelOf = (number: number): string => `bench-model-${number}`

/** The key of number `n` belongs to the organization of number `n % organizations`. */
const fill = Effect.fnUntraced(function* ({ keys, organizations }: Size) {
  const sql = yield* SqlClient.SqlClient
  const payments = yield* Payments
  const id = "('018f0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
  yield* sql.unsafe(
    `INSERT INTO organization (id, name, created_at)
    SELECT ${id}, 'bench ' || n, now() FROM generate_series(0, $1::int - 1) AS n`,
    [organizations]
  )
  yield* sql.unsafe(
    `INSERT INTO project (id, organization_id, name, created_at)
    SELECT ${id}, ${id}, 'bench', now() FROM generate_series(0, $1::int - 1) AS n`,
    [organizations]
  )
  yield* sql.unsafe(
    `INSERT INTO environment (id, project_id, name, created_at)
    SELECT ${id}, ${id}, 'bench', now() FROM generate_series(0, $1::int - 1) AS n`,
    [organizations]
  )
  yield* sql.unsafe(
    `INSERT INTO api_key (id, environment_id, name, sha256, display_prefix, created_at)
    SELECT ${id}, ${id.replace("to_hex(n)", "to_hex(n % $2::int)")}, 'bench',
      sha256(convert_to('tg-bench-' || n, 'UTF8')), 'tg-', now()
    FROM generate_series(0, $1::int - 1) AS n`,
    [keys, organizations]
  )
  for (let number = 0; number < organizations; number++) {
    const organization = organizationId(idOf(number))
    yield* payments.book({ organization, payment: "bench", kind: "grant", amount: creditEach, reason: "bench" })
  }
  yield* sql`ANALYZE`
})

const filled = (url: string, size: Size): Promise<void> => {
  const database = Database.layer({ url: Redacted.make(url), dataDir: "unused", poolSize: 1 })
  const services = Payments.layer.pipe(Layer.provideMerge(SecureRandom.layerWebCrypto), Layer.provideMerge(database))
  return Effect.runPromise(fill(size).pipe(Effect.provide(services)))
}

const started = async (bench: Bench, name: string, size: Size): Promise<StartedGateway> => {
  const catalog = join(bench.directory, `catalog-${size.models}.json`)
  const models = Array.from({ length: size.models }, (_, index) => ({
    id: modelOf(index),
    context_window: 128_000,
    max_output: 16_384,
    endpoints: [{ provider: "openai", upstream: "gpt-4o-mini", price_usd_per_mtok: { input: 0.15, output: 0.6 } }]
  }))
  writeFileSync(catalog, JSON.stringify({ models }))
  const url = await bench.startPostgres(name)
  await filled(url, size)
  return bench.startGateway(name, { DATABASE_URL: url, CATALOG_FILE: catalog })
}

/** Requests by `keys` keys, `every` numbers apart, in an order that is not theirs. */
const spread = ({ models }: Size, keys: number, every = 1): NextCall => {
  const bodies = Array.from({ length: models }, (_, index) =>
    chat({ model: modelOf(index), messages: [{ role: "user", content: "Tell me a short greeting, please." }] })
  )
  // A prime number visits all of them before it comes back to the first.
  const stride = 7_919
  let sent = 0
  return () => {
    const number = sent++ * stride
    const { body, path } = bodies[number % models] ?? chat({})
    return { path, body, headers: { authorization: `Bearer ${secretOf((number % keys) * every)}` } }
  }
}

const organizations: BenchScenario = {
  summary: "an organization count with 10 keys each and a model for five of them, beside 1 of each",
  count: organizationCount,
  run: async (bench, count) => {
    const [oneOfEach, size] = [sizeOf(1), sizeOf(count)]
    const one = await started(bench, "one of each", oneOfEach)
    const many = await started(bench, "many", size)
    const [ofOne = [], ofMany = [], ofFew = []] = await inTurn(bench.rounds, [
      () => bench.load.throughput(one, spread(oneOfEach, 1)),
      () => bench.load.throughput(many, spread(size, size.keys)),
      () => bench.load.throughput(many, spread(size, Math.min(size.keys, 100)))
    ])
    await Promise.all([one.stop(), many.stop()])
    const cpu = (all: typeof ofOne): ReadonlyArray<number> => all.map(({ cpuMicros }) => cpuMicros)
    const each = `${size.keys} keys of ${count} organizations, ${size.models} models`
    return [
      { scenario: "organizations", figure: "1 of each, processor µs", values: cpu(ofOne) },
      { scenario: "organizations", figure: `${each}, processor µs`, values: cpu(ofMany) },
      {
        scenario: "organizations",
        figure: `${each} / 1 of each, processor time`,
        values: ratiosOf(cpu(ofMany), cpu(ofOne)),
        goal: { atMost: 1.1 }
      },
      {
        scenario: "organizations",
        figure: "100 busy keys among them / 1 of each, processor time",
        values: ratiosOf(cpu(ofFew), cpu(ofOne))
      }
    ]
  }
}

const hot: BenchScenario = {
  summary: "one organization that sends everything, beside an organization count that share the load",
  count: organizationCount,
  run: async (bench, count) => {
    const size = sizeOf(count)
    const gateway = await started(bench, "hot", size)
    const [ofShared = [], ofHot = []] = await inTurn(bench.rounds, [
      () => bench.load.throughput(gateway, spread(size, Math.min(count, keysEach))),
      () => bench.load.throughput(gateway, spread(size, count === 1 ? 1 : keysEach, count))
    ])
    await gateway.stop()
    const figure = (name: string, values: ReadonlyArray<number>): Figure => ({ scenario: "hot", figure: name, values })
    const [cpuOfShared, cpuOfHot] = [ofShared, ofHot].map((all) => all.map(({ cpuMicros }) => cpuMicros))
    const [shared, alone] = [ofShared, ofHot].map((all) => all.map(({ perSecond }) => perSecond))
    return [
      figure("10 keys of one organization, per second", alone ?? []),
      figure("10 keys of one organization / of ten, per second", ratiosOf(alone ?? [], shared ?? [])),
      figure("10 keys of one organization / of ten, processor time", ratiosOf(cpuOfHot ?? [], cpuOfShared ?? []))
    ]
  }
}

export const organizationScenarios = { hot, organizations } as const
