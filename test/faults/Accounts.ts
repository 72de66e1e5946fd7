/** Organizations that pay, and what the database holds about their money once all is over. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { AuditTrail } from "../../src/access/AuditTrail.ts"
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
import { type Jobs, usageOf } from "./Jobs.ts"
import type { Observation } from "./Observations.ts"

export interface Payer {
  readonly organization: OrganizationId
  readonly key: string
}

const database = (url: string) => Database.layer({ url: Redacted.make(url), dataDir: "unused", poolSize: 2 })

const services = Layer.merge(ApiKeys.layer, CreditLedger.layer).pipe(
  Layer.provide(AuditTrail.layer),
  Layer.provide(SecureRandom.layerWebCrypto)
)

/** Organizations with these credits in USD, one each. */
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
  ).pipe(Effect.provide(services.pipe(Layer.provideMerge(database(url)))), Effect.orDie)

/** Makes the lease of every gateway expire, by the database's clock, which is the one that leases go by. */
export const expireLeases = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE gateway_lease SET heartbeat_at = heartbeat_at - interval '31 seconds'`
  }).pipe(Effect.provide(database(url)), Effect.orDie)

export interface AccountState {
  /** Amounts in picodollars, by request id. */
  readonly charges: ReadonlyMap<string, bigint>
  /** Holds that are still open. */
  readonly holds: number
  /** The sum of what accounts have on hold, in picodollars. */
  readonly held: bigint
  /** Rows in which an account disagrees with its entries or its holds. */
  readonly drift: ReadonlyArray<unknown>
  /** Entries of all accounts. */
  readonly entries: number
}

export const readAccounts = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const charges = yield* sql<{ readonly id: string; readonly amount: bigint }>`
      SELECT id, -amount AS amount FROM credit_entry WHERE kind = 'charge'`
    const [totals] = yield* sql<{ readonly holds: bigint; readonly held: string; readonly entries: bigint }>`
      SELECT (SELECT count(*) FROM credit_hold) AS holds, (SELECT count(*) FROM credit_entry) AS entries,
        sum(held)::text AS held
      FROM credit_account`
    return {
      charges: new Map(charges.map(({ amount, id }) => [id, amount])),
      holds: Number(totals?.holds),
      held: BigInt(totals?.held ?? 0),
      drift: yield* accountMismatches,
      entries: Number(totals?.entries)
    } satisfies AccountState
  }).pipe(Effect.provide(database(url)), Effect.orDie)

const price = Result.getOrThrow(loadCatalog()).models.get(modelId("gpt-4o-mini"))?.endpoints[0].price

/** What a complete answer to this job costs: the first, and one that is produced again. */
const costsOfJob = (job: number): ReadonlyArray<bigint> => {
  if (price === undefined) return assert.fail("the catalog has no price for the model of these suites")
  return [costOf(price, usageOf(job)), costOf(price, usageOf(job, true))]
}

/** Every charge that does not fit what clients observed and what the provider produced. */
export const wrongCharges = (
  { charges }: AccountState,
  observations: ReadonlyArray<Observation>,
  { productions }: Jobs
): ReadonlyArray<string> => {
  const byId = new Map(observations.flatMap((one) => (one.id === undefined ? [] : [[one.id, one] as const])))
  const byCost = new Map<bigint, number>(
    observations.flatMap(({ job }) => costsOfJob(job).map((cost) => [cost, job] as const))
  )
  const chargedJobs = new Set<number>()
  const faults: Array<string> = []
  for (const [id, amount] of charges) {
    const one = byId.get(id)
    // A client that was cut off before the answer began does not know its id; then the amount says which job it is.
    const job = one?.job ?? byCost.get(amount)
    if (job === undefined) {
      faults.push(`${id}: a charge of ${amount} that belongs to no job`)
      continue
    }
    if (chargedJobs.has(job)) faults.push(`${id}: job ${job} is charged twice`)
    chargedJobs.add(job)
    const production = productions.get(job)
    const isWhole = costsOfJob(job).includes(amount)
    const isPart = one?.outcome === "left" && !isWhole
    if (isPart ? production?.begun !== true : (production?.completed ?? 0) < 1)
      faults.push(`${id}: job ${job} is charged for an answer that was not produced`)
    if (!isPart && !isWhole) faults.push(`${id}: job ${job} is charged ${amount}`)
    const costsNothing = one?.outcome === "failed" || one?.outcome === "stopped" || one?.outcome === "refused"
    // The repeat of a request that was charged may fail, and can be repeated until it is answered.
    if (costsNothing && !one.isKeyed) faults.push(`${id}: job ${job} is charged though its outcome is ${one.outcome}`)
  }
  for (const { cost, id = "", isKeyed, job, outcome } of observations) {
    const expected = charges.get(id)
    if (outcome === "answered" && cost !== (expected ?? costsOfJob(job)[0]))
      faults.push(`${id}: job ${job} reported a cost of ${cost}, charged ${expected}`)
    if (
      (outcome === "failed" || outcome === "stopped") &&
      cost !== undefined &&
      cost !== (isKeyed ? (expected ?? 0n) : 0n)
    )
      faults.push(`${id}: job ${job} failed and still reported a cost`)
  }
  return faults
}

/** Answers that a client has in full, with their cost, for which no account was charged. */
export const uncharged = (
  { charges }: AccountState,
  observations: ReadonlyArray<Observation>
): ReadonlyArray<Observation> =>
  observations.filter(({ id, outcome }) => outcome === "answered" && !charges.has(id ?? ""))
