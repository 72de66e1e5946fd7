/** Organizations that pay, and what the database says of them once all is over. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { costOf } from "../../src/catalog/Price.ts"
import {
  environmentId,
  modelId,
  organizationId,
  type OrganizationId,
  projectId,
  requestId
} from "../../src/domain/Ids.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { accountMismatches } from "../../src/ledger/LedgerChecks.ts"
import { Database } from "../../src/sql/Database.ts"
import { usd } from "../support/TestGateway.ts"
import type { Told } from "./Client.ts"
import { usageOf, type Upstream } from "./Upstream.ts"

export interface Payer {
  readonly organization: OrganizationId
  readonly key: string
}

const database = (url: string) => Database.layer({ url: Redacted.make(url), dataDir: "unused", poolSize: 2 })

const rooms = Layer.merge(ApiKeys.layer, CreditLedger.layer).pipe(Layer.provide(SecureRandom.layerWebCrypto))

/** Organizations with these amounts of USD. */
export const payers = (url: string, credits: ReadonlyArray<string>) =>
  Effect.forEach(credits, (credit) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = organizationId(randomUUID())
      const [project, environment] = [projectId(randomUUID()), environmentId(randomUUID())]
      yield* sql`INSERT INTO organization (id, name, created_at) VALUES (${organization}, 'o', now())`
      yield* sql`
        INSERT INTO project (id, organization_id, name, created_at) VALUES (${project}, ${organization}, 'p', now())`
      yield* sql`
        INSERT INTO environment (id, project_id, name, created_at) VALUES (${environment}, ${project}, 'e', now())`
      const { secret } = yield* (yield* ApiKeys).issue({ environment, name: "faults" })
      yield* (yield* CreditLedger).grant({ payment: requestId(randomUUID()), organization, amount: usd(credit) })
      return { organization, key: Redacted.value(secret) } satisfies Payer
    })
  ).pipe(Effect.provide(rooms.pipe(Layer.provideMerge(database(url)))), Effect.orDie)

/** Lets a lease of every gateway pass, by the database's clock, which is the only one that counts. */
export const passLeases = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE gateway_lease SET heartbeat_at = heartbeat_at - interval '31 seconds'`
  }).pipe(Effect.provide(database(url)), Effect.orDie)

export interface Books {
  /** By request id, in picodollars. */
  readonly charges: ReadonlyMap<string, bigint>
  readonly holds: number
  readonly held: bigint
  readonly lowest: bigint
  readonly drift: ReadonlyArray<unknown>
  readonly rows: number
}

export const read = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const charges = yield* sql<{ readonly id: string; readonly amount: bigint }>`
      SELECT id, -amount AS amount FROM credit_entry WHERE kind = 'charge'`
    const [totals] = yield* sql<{ readonly holds: bigint; readonly held: string; readonly lowest: bigint }>`
      SELECT (SELECT count(*) FROM credit_hold) AS holds, sum(held)::text AS held, min(balance) AS lowest
      FROM credit_account`
    const [entries] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM credit_entry`
    return {
      charges: new Map(charges.map(({ amount, id }) => [id, amount])),
      holds: Number(totals?.holds),
      held: BigInt(totals?.held ?? 0),
      lowest: totals?.lowest ?? 0n,
      drift: yield* accountMismatches,
      rows: Number(entries?.count)
    } satisfies Books
  }).pipe(Effect.provide(database(url)), Effect.orDie)

const price = Result.getOrThrow(loadCatalog()).models.get(modelId("gpt-4o-mini"))?.endpoints[0].price

/** What a whole answer to this job costs. */
export const costOfJob = (job: number): bigint => {
  if (price === undefined) return assert.fail("the catalog has no price for the model of these suites")
  return costOf(price, usageOf(job))
}

/** Everything that is wrong with the books, in the light of what clients were told and the provider produced. */
export const faultsIn = (books: Books, told: ReadonlyArray<Told>, { productions }: Upstream): ReadonlyArray<string> => {
  const byId = new Map(told.flatMap((one) => (one.id === undefined ? [] : [[one.id, one] as const])))
  const byCost = new Map(told.map(({ job }) => [costOfJob(job), job]))
  const chargedJobs = new Set<number>()
  const faults: Array<string> = []
  for (const [id, amount] of books.charges) {
    const one = byId.get(id)
    // A client that was cut off before the answer began does not know its id; then the amount says which job it is.
    const job = one?.job ?? byCost.get(amount)
    if (job === undefined) {
      faults.push(`${id}: a charge of ${amount} for nothing that was asked`)
      continue
    }
    if (chargedJobs.has(job)) faults.push(`${id}: job ${job} is charged twice`)
    chargedJobs.add(job)
    const production = productions.get(job)
    const isPart = one?.outcome === "left" && amount !== costOfJob(job)
    if (isPart ? production?.begun !== true : (production?.whole ?? 0) < 1)
      faults.push(`${id}: job ${job} is charged for an answer that was not produced`)
    if (!isPart && amount !== costOfJob(job)) faults.push(`${id}: job ${job} is charged ${amount}`)
    if (one?.outcome === "failed" || one?.outcome === "stopped" || one?.outcome === "refused")
      faults.push(`${id}: job ${job} is charged though it ${one.outcome}`)
  }
  for (const { cost, id = "", job, outcome } of told) {
    if (outcome === "answered" && cost !== costOfJob(job)) faults.push(`${id}: job ${job} was told a cost of ${cost}`)
    if ((outcome === "failed" || outcome === "stopped") && cost !== undefined && cost !== 0n)
      faults.push(`${id}: job ${job} failed at a cost`)
  }
  return faults
}

/** Answers that a client has in full, with their cost, of which the journal knows nothing. */
export const unbooked = (books: Books, told: ReadonlyArray<Told>): ReadonlyArray<Told> =>
  told.filter(({ id, outcome }) => outcome === "answered" && !books.charges.has(id ?? ""))
