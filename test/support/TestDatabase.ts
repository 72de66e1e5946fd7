/**
 * Databases for suites. Each suite gets a new, migrated database: always on the embedded engine, and on PostgreSQL
 * where it is available.
 */
import { randomUUID } from "node:crypto"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"

import { PgClient } from "@effect/sql-pg"
import { describe, layer, type Vitest } from "@effect/vitest"
import { Deferred, type Duration, Effect, Fiber, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"

import { Database, type StartError } from "../../src/sql/Database.ts"

export type Services = Database | PgClient.PgClient | SqlClient.SqlClient

/** A data directory of the embedded engine, deleted with its scope. */
export const dataDirectory = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(inject("scratch"), "embedded-"))
    cpSync(inject("embeddedTemplate"), directory, { recursive: true })
    return directory
  }),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** Runs one statement on the server, on a connection of its own, so that it works while a scope is closing. */
const onServer = (server: string, statement: (sql: PgClient.PgClient) => Effect.Effect<unknown, SqlError.SqlError>) =>
  PgClient.make({ url: Redacted.make(server), maxConnections: 1 }).pipe(
    Effect.flatMap(statement),
    Effect.scoped,
    Effect.provide(Reactivity.layer)
  )

/** The URL of an empty database on the server at `server`, dropped with its scope. */
export const postgresDatabase = Effect.fnUntraced(function* (server: string) {
  const name = `tollgate_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(
    onServer(server, (sql) => sql`CREATE DATABASE ${sql(name)}`),
    () => Effect.orDie(onServer(server, (sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`))
  )
  return Redacted.make(Object.assign(new URL(server), { pathname: `/${name}` }).href)
})

export const layerEmbedded: Layer.Layer<Services, StartError> = Layer.unwrap(
  Effect.map(dataDirectory, (dataDir) => Database.layer({ dataDir, poolSize: 1 }))
)

export const layerPostgres = (server: string): Layer.Layer<Services, StartError> =>
  Layer.unwrap(Effect.map(postgresDatabase(server), (url) => Database.layer({ url, dataDir: "unused", poolSize: 8 })))

/** A client of a server that does not exist. */
export const layerUnreachable = PgClient.layer({ url: Redacted.make("postgres://postgres@127.0.0.1:1/postgres") })

/** Runs `effect` while `table` is locked, then lets `duration` pass on the `TestClock` before it is unlocked. */
export const whileLocked = Effect.fnUntraced(function* <A, E, R>(
  table: string,
  effect: Effect.Effect<A, E, R>,
  duration: Duration.Input
) {
  const sql = yield* SqlClient.SqlClient
  const locked = yield* Deferred.make<void>()
  const finished = yield* Deferred.make<void>()
  const holder = yield* sql`LOCK TABLE ${sql(table)}`.pipe(
    Effect.andThen(Deferred.succeed(locked, undefined)),
    Effect.andThen(Deferred.await(finished)),
    sql.withTransaction,
    Effect.forkChild
  )
  yield* Deferred.await(locked)
  const result = yield* effect
  yield* TestClock.adjust(duration)
  yield* Deferred.succeed(finished, undefined)
  yield* Fiber.join(holder)
  return result
})

/** Runs in a transaction that is rolled back. */
export const rolledBack = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    effect.pipe(
      Effect.andThen(Effect.fail("undo" as const)),
      sql.withTransaction,
      Effect.catchIf(
        (error) => error === "undo",
        () => Effect.void
      )
    )
  )

export interface Options {
  /** Run on the real clock instead of the `TestClock`. */
  readonly liveClock?: boolean
}

/**
 * Runs a suite on every available engine. The name of the suite says on which, so that reports show what was proved
 * where.
 */
export const describeOnEngines = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services>) => void,
  options: Options = {}
): void => {
  const settings = { excludeTestServices: options.liveClock ?? false, timeout: "3 minutes" } as const
  layer(layerEmbedded, settings)(`${name} [embedded]`, suite)
  const server = inject("postgresUrl")
  // There is no PostgreSQL on this machine: everything is proved on the embedded engine only.
  if (server === undefined) describe.skip(`${name} [postgresql: none found]`, () => {})
  else layer(layerPostgres(server), settings)(`${name} [postgresql]`, suite)
}
