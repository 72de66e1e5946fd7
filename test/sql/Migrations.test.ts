import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { inject } from "vitest"

import { audit } from "../../src/audit/Audit.ts"
import { accountMismatches } from "../../src/ledger/LedgerChecks.ts"
import { Database } from "../../src/sql/Database.ts"
import { migrate, migrations, SchemaMismatch } from "../../src/sql/Migrations.ts"
import { describeOnEngines, postgresDatabase, rolledBack } from "../support/TestDatabase.ts"

describeOnEngines("Migrations", (it) => {
  const refusal = Effect.flip(migrate).pipe(
    Effect.map((error) => (error instanceof SchemaMismatch ? error.message : ""))
  )

  it.effect("are all applied by the layer, and only once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ readonly n: bigint }>`SELECT count(*) AS n FROM schema_migration`
      assert.strictEqual(rows[0]?.n, BigInt(Object.keys(migrations).length))
      assert.deepStrictEqual(yield* migrate, [])
    })
  )

  it.effect("refuse a database that was migrated by a newer version", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO schema_migration (migration_id, name) VALUES (999, 'of_tomorrow')`
      assert.include(yield* refusal, "migration 999 (of_tomorrow), which this version does not know")
    }).pipe(rolledBack)
  )

  it.effect("refuse a database whose applied migrations have a gap", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM schema_migration WHERE migration_id = 2`
      assert.include(yield* refusal, "later migrations but not 2 (ledger)")
    }).pipe(rolledBack)
  )

  it.effect("refuse a database that lacks tables of its applied migrations", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`DROP TABLE request_log CASCADE`
      yield* sql`DROP TABLE session_pin`
      assert.include(yield* refusal, "lacks request_log, request_receipt, session_pin")
    }).pipe(rolledBack)
  )

  it.effect("upgrade a database of the first version, and leave its journal as it is", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // A schema of its own stands for a database of its own.
      yield* sql`CREATE SCHEMA first_version`
      yield* sql`SET LOCAL search_path = first_version`
      const first = Object.fromEntries(Object.entries(migrations).slice(0, 6))
      yield* Migrator.make({})({ loader: Migrator.fromRecord(first), table: "schema_migration" })
      const id = "018f0000-0000-7000-8000-000000000001"
      yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount) VALUES (${id}, ${id}, 'charge', -5)`
      yield* sql`INSERT INTO credit_account (organization_id, balance) VALUES (${id}, -5)`
      assert.deepStrictEqual(
        yield* migrate,
        Object.keys(migrations)
          .slice(6)
          .map((name) => name.replace(/^0+/, ""))
      )
      assert.deepStrictEqual(yield* accountMismatches, [])
      assert.deepStrictEqual((yield* audit).counts, { unexplained_charge: 1 })
      const entries = yield* sql`SELECT id, amount, facts FROM credit_entry`
      assert.deepStrictEqual(entries, [{ id, amount: -5n, facts: null }])
    }).pipe(rolledBack)
  )

  it.effect("make the journal append-only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const id = "018f0000-0000-7000-8000-000000000001"
      yield* sql`INSERT INTO credit_entry (id, organization_id, kind, amount) VALUES (${id}, ${id}, 'grant', 5)`
      for (const change of [
        "UPDATE credit_entry SET amount = 6",
        "DELETE FROM credit_entry",
        "TRUNCATE credit_entry"
      ]) {
        const error = yield* Effect.flip(sql.withTransaction(sql.unsafe(change)))
        assert.include(String(error.reason.cause), "credit_entry is append-only")
      }
      const postings = yield* sql<{ readonly sum: string }>`SELECT sum(amount)::text AS sum FROM credit_posting`
      assert.strictEqual(postings[0]?.sum, "0")
    }).pipe(rolledBack)
  )
})

describe.runIf(inject("postgresUrl") !== undefined)("Migrations of several replicas", () => {
  it.live("that start together are applied by one of them", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase(inject("postgresUrl") ?? "")
      const start = SqlClient.SqlClient.pipe(
        Effect.flatMap((sql) => sql<{ readonly n: bigint }>`SELECT count(*) AS n FROM schema_migration`),
        Effect.provide(Database.layer({ url, dataDir: "unused", poolSize: 1 }), { local: true })
      )
      const counts = yield* Effect.all([start, start, start], { concurrency: "unbounded" })
      for (const rows of counts) assert.strictEqual(rows[0]?.n, BigInt(Object.keys(migrations).length))
    })
  )
})
