import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, watch, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import process from "node:process"
import { promisify } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"

import { Database } from "../../src/sql/Database.ts"
import { createIfMissing } from "../../src/sql/EmptyDatabase.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import { freePort } from "../support/PostgresServer.ts"
import { dataDirectory } from "../support/TestDatabase.ts"

const scratch = (): string => mkdtempSync(join(inject("scratch"), "empty-database-"))

const entriesOf = (root: string): ReadonlyArray<string> =>
  readdirSync(root, { withFileTypes: true, recursive: true })
    .map((entry) => `${relative(root, join(entry.parentPath, entry.name))}${entry.isDirectory() ? "/" : ""}`)
    .toSorted()

/** The versions of the file formats, which a server compares with its own: the eight bytes after its identifier. */
const formatOf = (root: string): string => readFileSync(join(root, "global/pg_control")).toString("hex", 8, 16)

/** Everything that the migrations define, as one text each, in the database of a data directory. */
const schemaIn = (dataDir: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly definition: string }>`
      WITH relation AS (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace),
      definitions AS (
        SELECT format('%s.%s %s %s', table_name, column_name, data_type, column_default)
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid)
          FROM pg_constraint WHERE conrelid IN (SELECT oid FROM relation)
        UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relation)
        UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT migration_id || ' ' || name FROM schema_migration
      )
      SELECT format AS definition FROM definitions ORDER BY 1`
  ).pipe(
    Effect.map((rows) => rows.map(({ definition }) => definition)),
    Effect.provide(Database.layer({ dataDir, poolSize: 1 }), { local: true })
  )

describe("The empty database that a first start unpacks", () => {
  it("has the format of the installed engine; if it has not, `npm run database` makes it anew", () => {
    const unpacked = join(scratch(), "postgres")
    createIfMissing(unpacked)
    const made = join(inject("embeddedTemplate"), "postgres")
    assert.strictEqual(formatOf(unpacked), formatOf(made))
    for (const name of ["PG_VERSION", "postgresql.conf", "pg_hba.conf"])
      assert.strictEqual(readFileSync(join(unpacked, name), "utf8"), readFileSync(join(made, name), "utf8"), name)
  })

  it.live("has the schema that the migrations make in a database of the installed engine", () =>
    Effect.gen(function* () {
      const unpacked = yield* schemaIn(scratch())
      const migrated = yield* Effect.flatMap(dataDirectory, schemaIn)
      assert.isAbove(migrated.length, 100)
      assert.deepStrictEqual(unpacked, migrated)
    })
  )

  it("is unpacked anew where an earlier start was killed before all of it was there", () => {
    const path = join(scratch(), "postgres")
    mkdirSync(`${path}.partial/global`, { recursive: true })
    writeFileSync(`${path}.partial/PG_VERSION`, "part of")
    createIfMissing(path)
    assert.isFalse(existsSync(`${path}.partial`))
    assert.strictEqual(readFileSync(join(path, "PG_VERSION"), "utf8"), "18\n")
  })

  it("is left alone where there is a database", () => {
    const path = join(scratch(), "postgres")
    mkdirSync(path)
    writeFileSync(join(path, "PG_VERSION"), "18\n")
    createIfMissing(path)
    assert.deepStrictEqual(entriesOf(path), ["PG_VERSION"])
  })
})

/** Kills a gateway as soon as an entry of this name appears in its new data directory. */
const killedAt = async (entry: string): Promise<string> => {
  const directory = scratch()
  const watcher = watch(directory)
  const gateway = new GatewayProcess(await freePort(), { DATA_DIR: directory })
  await new Promise<void>((resolve) => {
    watcher.on("change", (_event, name) => void (name === entry && resolve()))
    // It cannot have started: what is waited for comes first.
    void gateway.ready.then(() => resolve())
  })
  await gateway.kill()
  watcher.close()
  return directory
}

describe("A first start that is killed", () => {
  for (const [when, entry] of Object.entries({ "while it unpacks": "postgres.partial", "after that": "postgres" }))
    it(`${when} is followed by one that succeeds`, { timeout: 180_000 }, async () => {
      const directory = await killedAt(entry)
      const gateway = new GatewayProcess(await freePort(), { DATA_DIR: directory })
      assert.isTrue(await gateway.ready, gateway.output.join(""))
      assert.strictEqual((await fetch(`${gateway.url}/health/ready`)).status, 200)
      assert.strictEqual(await gateway.terminate(), 0)
    })
})

describe("The embedded engine", () => {
  it("has no function that takes more than 100 MB to be optimized", { timeout: 180_000 }, async () => {
    const path = join(scratch(), "postgres")
    const script = `
      const { openEngine } = await import("./src/sql/EmbeddedEngine.ts")
      const engine = await openEngine(${JSON.stringify(path)})
      for (let count = 0; count < 300; count++) await engine.exec("SELECT " + count + " AS one, 'two' AS two")
      await engine.close()`
    // Functions are optimized where they stand when they have run often enough, and not in another thread at some time.
    const flags = ["--wasm-sync-tier-up", "--trace-wasm-compilation-times", "--input-type=module", "--eval", script]
    const options = { cwd: join(import.meta.dirname, "../.."), maxBuffer: 64 * 1024 * 1024 }
    const { stdout } = await promisify(execFile)(process.execPath, flags, options)
    const optimized = [...stdout.matchAll(/using TurboFan, took \d+ ms and (\d+) /g)].map(([, bytes]) => Number(bytes))
    assert.isAbove(optimized.length, 0)
    assert.isBelow(Math.max(...optimized), 100_000_000)
  })
})
