/** What the suites of the ledger share: fresh ids, the ledger of one boot, and a database that misbehaves on demand. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect, Equal, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"

import { organizationId, type OrganizationId, requestId } from "../../src/domain/Ids.ts"
import { type Picodollars, picodollars } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { verify } from "../../src/ledger/Verify.ts"
import { Database } from "../../src/sql/Database.ts"

export const pico = (amount: bigint | number): Picodollars => picodollars(BigInt(amount))
export const newRequest = () => requestId(randomUUID())
export const newOrganization = () => organizationId(randomUUID())

/** An organization with this much credit. */
export const funded = Effect.fnUntraced(function* (amount: bigint | number) {
  const ledger = yield* CreditLedger
  const organization = newOrganization()
  yield* ledger.grant({ payment: newRequest(), organization, amount: pico(amount) })
  return organization
})

/** Takes a hold in the current scope. */
export const take = Effect.fnUntraced(function* (organization: OrganizationId, amount: bigint | number) {
  const ledger = yield* CreditLedger
  return yield* ledger.hold({ request: newRequest(), organization, amount: pico(amount) })
})

/** Available and held credit, as plain integers. */
export const books = Effect.fnUntraced(function* (organization: OrganizationId) {
  const ledger = yield* CreditLedger
  const { available, held } = yield* ledger.balance(organization)
  return [BigInt(available), BigInt(held)]
})

/** The charges booked for an organization, smallest first. */
export const charges = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly amount: bigint }>`
    SELECT -amount AS amount FROM credit_entry
    WHERE organization_id = ${organization}::uuid AND kind = 'charge' ORDER BY 1`
  return rows.map((row) => row.amount)
})

/** Lets every gateway that is registered now seem to have died a minute ago. */
export const silenceGateways = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE gateway_lease SET heartbeat_at = now() - interval '1 minute'`
})

export const assertBooksAgree = Effect.map(verify, (drift) => assert.deepStrictEqual(drift, []))

/** Runs with the ledger of a new boot, which ends with the effect. */
export const withLedger = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, CreditLedger.layer)

type Run = (statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>) => typeof statement

/** Runs with a ledger whose own connections do with each batch as they are told. */
export const withLedgerOver = <A, E, R>(run: Run, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const database = yield* Database
    const ledger = new Proxy(database.ledger, {
      get: (client, property) =>
        property === "unsafe"
          ? (...statement: Parameters<typeof client.unsafe>) => run(client.unsafe(...statement))
          : Reflect.get(client, property)
    })
    const layer = CreditLedger.layer.pipe(Layer.provide(Layer.succeed(Database, { ...database, ledger })))
    return yield* Effect.provide(effect, layer)
  })

export const connectionLost = Effect.fail(
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error("connection lost") }) })
)

/** Waits, in real time, until background work has made `effect` answer `expected`. */
export const eventually = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>, expected: NoInfer<A>) {
  for (let tries = 0; tries < 200; tries++) {
    if (Equal.equals(yield* effect, expected)) return
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
  }
  assert.deepStrictEqual(yield* effect, expected)
})
