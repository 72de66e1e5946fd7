/**
 * The one database: PostgreSQL when there is a URL, else a PostgreSQL embedded in this process. Both are reached by the
 * same client, so there is one SQL dialect and one set of migrations. Whoever has the client has a migrated schema.
 *
 * The embedded engine has one session, shared by all fibers, and does not flush to disk: it survives a killed process
 * but not a power cut.
 */
import { PgClient } from "@effect/sql-pg"
import type { PGlite } from "@electric-sql/pglite"
import { Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"

import * as DataDirectory from "./DataDirectory.ts"
import { migrate, requireMigrated, type SchemaMismatch } from "./Migrations.ts"
import { connectTo } from "./PgliteWire.ts"

export interface DatabaseOptions {
  readonly url?: Redacted.Redacted | undefined
  /** Where the embedded database lives when there is no URL. */
  readonly dataDir: string
  /** Connections to PostgreSQL, beside those of the ledger. */
  readonly poolSize: number
}

interface Clients {
  readonly engine: "postgresql" | "embedded"
  /** For everything but the ledger's batches. */
  readonly general: PgClient.PgClient
  readonly ledger: PgClient.PgClient
}

export type StartError = SqlError.SqlError | Migrator.MigrationError | SchemaMismatch | DataDirectory.DataDirectoryError

export class Database extends Context.Service<
  Database,
  {
    readonly engine: "postgresql" | "embedded"
    /** For the ledger's batch statement only: its connections plan for one statement and would plan others badly. */
    readonly ledger: PgClient.PgClient
    /** Succeeds when the database answers. */
    readonly ping: Effect.Effect<void, SqlError.SqlError>
  }
>()("tollgate/sql/Database") {
  static readonly layer = (options: DatabaseOptions) => prepared(clientsOf(options), migrate)

  /** For those who only look: fails where `layer` would migrate. */
  static readonly layerUnchanged = (options: DatabaseOptions) => prepared(clientsOf(options), requireMigrated)

  /** An embedded database that is gone with its scope. */
  static readonly layerMemory = Layer.suspend(() => prepared(embeddedIn("memory://"), migrate))
}

const applicationName = "tollgate"

const ledgerConnections = 2

/**
 * The batch statement is planned once, while its tables are small. Left alone, that plan would scan them whole for ever
 * after; and the cost that says "no scans" would set off compilation, which takes longer than the statement.
 */
const ledgerSettings = { enable_seqscan: "off", jit: "off", plan_cache_mode: "force_generic_plan" }

const postgresql = Effect.fnUntraced(function* (url: Redacted.Redacted, poolSize: number) {
  const general = yield* PgClient.make({ url, applicationName, minConnections: 1, maxConnections: poolSize })
  const ledger = yield* PgClient.make({
    url,
    applicationName: `${applicationName}-ledger`,
    minConnections: ledgerConnections,
    maxConnections: ledgerConnections,
    startupParameters: ledgerSettings
  })
  return { engine: "postgresql", general, ledger } satisfies Clients
})

/** Opens the engine; loaded only when it is needed, because it brings hundreds of megabytes. */
const open = (location: string): Effect.Effect<PGlite, DataDirectory.DataDirectoryError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => import("@electric-sql/pglite").then(({ PGlite }) => PGlite.create(location)),
      catch: (cause) => DataDirectory.unusable(location, cause)
    }),
    (database) => Effect.promise(() => database.close())
  )

const embeddedIn = Effect.fnUntraced(function* (location: string) {
  const database = yield* open(location)
  const client = yield* PgClient.make({
    stream: connectTo(database),
    username: "postgres",
    database: "postgres",
    minConnections: 1,
    maxConnections: 1
  })
  return { engine: "embedded", general: client, ledger: client } satisfies Clients
})

const embedded = (dataDir: string) => Effect.flatMap(DataDirectory.lockDataDirectory(dataDir), embeddedIn)

const clientsOf = ({ dataDir, poolSize, url }: DatabaseOptions) =>
  url === undefined ? embedded(dataDir) : postgresql(url, poolSize)

const prepared = <E extends StartError>(
  open: Effect.Effect<Clients, E, Scope.Scope | Reactivity.Reactivity>,
  prepare: Effect.Effect<unknown, StartError, SqlClient.SqlClient>
): Layer.Layer<Database | PgClient.PgClient | SqlClient.SqlClient, StartError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { engine, general, ledger } = yield* open
      yield* Effect.provideService(prepare, SqlClient.SqlClient, general)
      const ping = Effect.asVoid(general`SELECT 1`)
      return Context.make(Database, Database.of({ engine, ledger, ping })).pipe(
        Context.add(PgClient.PgClient, general),
        Context.add(SqlClient.SqlClient, general)
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))
