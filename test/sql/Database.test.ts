import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"

import { Database } from "../../src/sql/Database.ts"
import { DataDirectoryError } from "../../src/sql/DataDirectory.ts"
import { dataDirectory, describeOnEngines } from "../support/TestDatabase.ts"

describeOnEngines("Database", (it) => {
  it.effect("answers", () => Effect.flatMap(Database, (database) => database.ping))

  it.effect("returns amounts exactly that are too large for a double", () =>
    Effect.gen(function* () {
      const { ledger } = yield* Database
      const amount = 9_007_199_254_740_993n
      assert.deepStrictEqual(yield* ledger`SELECT ${amount}::bigint AS amount`, [{ amount }])
    })
  )

  it.effect("changes the planner settings of the ledger's connections only", () =>
    Effect.gen(function* () {
      const { engine, ledger } = yield* Database
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* sql`SHOW enable_seqscan`, [{ enable_seqscan: "on" }])
      const expected = engine === "postgresql" ? "off" : "on"
      assert.deepStrictEqual(yield* ledger`SHOW enable_seqscan`, [{ enable_seqscan: expected }])
    })
  )
})

describe("Database on a server that is not there", () => {
  const urls = {
    "does not listen": "postgres://postgres:geheim@127.0.0.1:1/postgres",
    "is not named by a URL": "geheim"
  }
  for (const [what, url] of Object.entries(urls))
    it.live(`fails at start, where it ${what}, with a line that names the variable and the remedy`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          Effect.provide(Database, Database.layer({ url: Redacted.make(url), dataDir: "unused", poolSize: 1 }))
        )
        assert.strictEqual(error._tag, "DatabaseUnreachable")
        assert.match(error.message, /^DATABASE_URL: .*Set it to .*unset it/)
        assert.notInclude(error.message, "geheim")
      })
    )
})

describe("Database in a data directory", () => {
  const start = (dataDir: string) =>
    Effect.provide(SqlClient.SqlClient, Database.layer({ dataDir, poolSize: 1 }), { local: true })
  const open = <A, E>(dataDir: string, use: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
    Effect.flatMap(SqlClient.SqlClient, use).pipe(
      Effect.provide(Database.layer({ dataDir, poolSize: 1 }), { local: true })
    )
  const lockFile = (dataDir: string) => join(dataDir, "gateway.pid")

  it.live("keeps what was written", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      yield* open(dataDir, (sql) => sql`CREATE TABLE kept AS SELECT 7 AS value`)
      assert.isFalse(existsSync(lockFile(dataDir)))
      assert.deepStrictEqual(yield* open(dataDir, (sql) => sql`SELECT value FROM kept`), [{ value: 7 }])
    })
  )

  it.live("cannot be opened twice, by this process or by another", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const here = yield* Effect.flip(open(dataDir, () => start(dataDir)))
      assert.isTrue(here instanceof DataDirectoryError && here.reason === "InUse")
      // Process 1 is always alive.
      writeFileSync(lockFile(dataDir), "1\n")
      const other = yield* Effect.flip(start(dataDir))
      assert.isTrue(other instanceof DataDirectoryError && other.reason === "InUse")
      assert.include(other.message, "in use by process 1")
      assert.strictEqual(readFileSync(lockFile(dataDir), "utf8"), "1\n")
    })
  )

  it.live("takes over the lock of a process that has died, and one with the id of this process", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const deadProcess = execFileSync(process.execPath, ["-p", "process.pid"], { encoding: "utf8" })
      for (const pid of [deadProcess, `${process.pid}\n`, "not a number"]) {
        writeFileSync(lockFile(dataDir), pid)
        assert.strictEqual(yield* open(dataDir, () => Effect.succeed("started")), "started")
      }
    })
  )

  it.live("names the directory that cannot be used", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start("/dev/null/nowhere"))
      assert.isTrue(error instanceof DataDirectoryError && error.reason === "Unusable")
      assert.include(error.message, "/dev/null/nowhere")
    })
  )
})
