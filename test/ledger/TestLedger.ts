/** For the suites of the ledger: new ids, the ledger of one gateway process, and a database that fails on demand. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect, Equal, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, SqlError } from "effect/sql"

import { organizationId, type OrganizationId, requestId } from "../../src/domain/Ids.ts"
import { type Picodollars, picodollars } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { accountMismatches } from "../../src/ledger/LedgerChecks.ts"
import { Database } from "../../src/sql/Database.ts"
import { realMillis } from "../support/PassingTime.ts"

export const pico = (amount: bigint | number): Picodollars => picodollars(BigInt(amount))
export const newRequest = () => requestId(randomUUID())
export const newOrganization = () => organizationId(randomUUID())

/** A new organization with this much credit. */
export const funded = Effect.fnUntraced(function* (amount: bigint | number) {
  const ledger = yield* CreditLedger
  const organization = newOrganization()
  yield* ledger.grant({ payment: newRequest(), organization, amount: pico(amount) })
  return organization
})

/** Takes a hold that lasts until the current scope closes. */
export const takeHold = Effect.fnUntraced(function* (organization: OrganizationId, amount: bigint | number) {
  const ledger = yield* CreditLedger
  return yield* ledger.hold({ request: newRequest(), organization, amount: pico(amount) })
})

/** The available and the held credit, in picodollars. */
export const balanceOf = Effect.fnUntraced(function* (organization: OrganizationId) {
  const ledger = yield* CreditLedger
  const { available, held } = yield* ledger.balance(organization)
  return [BigInt(available), BigInt(held)]
})

/** The charges of an organization, in order of amount. */
export const charges = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly amount: bigint }>`
    SELECT -amount AS amount FROM credit_entry
    WHERE organization_id = ${organization}::uuid AND kind = 'charge' ORDER BY 1`
  return rows.map((row) => row.amount)
})

/** Makes every gateway that has a lease look as if it had died a minute ago. */
export const silenceGateways = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE gateway_lease SET heartbeat_at = now() - interval '1 minute'`
})

export const assertBooksAgree = Effect.map(accountMismatches, (mismatches) => assert.deepStrictEqual(mismatches, []))

const ledgerLayer = CreditLedger.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto))

/** Runs with the ledger of a new gateway process, which ends with the effect. */
export const withLedger = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, ledgerLayer)

/** Runs with the ledger of a further gateway process, beside the one that is there. */
export const withOtherLedger = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, ledgerLayer, { local: true })

type RunStatement = (statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>) => typeof statement

/** Runs with a ledger that passes each of its batches to `run`, which may send, delay or fail it. */
export const withLedgerOver = <A, E, R>(run: RunStatement, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const database = yield* Database
    const ledger = new Proxy(database.ledger, {
      get: (client, property) =>
        property === "unsafe"
          ? (...statement: Parameters<typeof client.unsafe>) => run(client.unsafe(...statement))
          : Reflect.get(client, property)
    })
    const layer = ledgerLayer.pipe(Layer.provide(Layer.succeed(Database, { ...database, ledger })))
    return yield* Effect.provide(effect, layer)
  })

export const connectionLost = Effect.fail(
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error("connection lost") }) })
)

/** Waits, in real time and for a minute at most, until background work has made `effect` return `expected`. */
export const eventually = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>, expected: NoInfer<A>) {
  for (let tries = 0; tries < 12_000; tries++) {
    if (Equal.equals(yield* effect, expected)) return
    yield* realMillis(5)
  }
  assert.deepStrictEqual(yield* effect, expected)
})
