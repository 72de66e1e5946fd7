/**
 * The database: PostgreSQL if there is a URL, otherwise a PostgreSQL that is embedded in this process (PGlite). Both
 * are used through the same client, so there is one SQL dialect and one set of migrations. The rule: a layer provides
 * the client only after the schema has been migrated.
 *
 * The embedded engine has one session, which all fibers share, and does not flush to disk: it survives a killed process
 * but not a power cut.
 */
import { PgClient } from "@effect/sql-pg"
import type { PGlite } from "@electric-sql/pglite"
import { Context, Data, Effect, Layer, type Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"

import { describeError } from "../observability/ErrorDescription.ts"
import * as DataDirectory from "./DataDirectory.ts"
import { migrate, requireMigrated, type SchemaMismatch } from "./Migrations.ts"
import { connectTo } from "./PgliteWire.ts"

/** Which database to open, and how. */
export interface DatabaseOptions {
  readonly url?: Redacted.Redacted | undefined
  /** The data directory of the embedded database, which is used if there is no URL. */
  readonly dataDir: string
  /** The number of connections to PostgreSQL, not counting those of the ledger. */
  readonly poolSize: number
}

interface Clients {
  readonly engine: "postgresql" | "embedded"
  /** For all statements but the ledger's batches. */
  readonly general: PgClient.PgClient
  readonly ledger: PgClient.PgClient
}

/** PostgreSQL could not be reached at the start. `message` names the variable and says what to do. */
export class DatabaseUnreachable extends Data.TaggedError("DatabaseUnreachable")<{ readonly message: string }> {}

const unreachable = (error: SqlError.SqlError): DatabaseUnreachable =>
  new DatabaseUnreachable({
    message:
      `DATABASE_URL: ${describeError(error)}. Set it to a PostgreSQL that runs and a database that exists, as in ` +
      "postgres://user:password@host:5432/name, or unset it for the embedded database"
  })

export type StartError =
  | DatabaseUnreachable
  | SqlError.SqlError
  | Migrator.MigrationError
  | SchemaMismatch
  | DataDirectory.DataDirectoryError

export class Database extends Context.Service<
  Database,
  {
    readonly engine: "postgresql" | "embedded"
    /**
     * For the ledger's batches only: its connections have planner settings that suit those statements and no others.
     */
    readonly ledger: PgClient.PgClient
    /** Succeeds when the database answers. */
    readonly ping: Effect.Effect<void, SqlError.SqlError>
  }
>()("tollgate/sql/Database") {
  /** Migrates the database first. */
  static readonly layer = (options: DatabaseOptions) => prepared(clientsOf(options), migrate)

  /** For a database that is only read: fails where `layer` would migrate. */
  static readonly layerMigrated = (options: DatabaseOptions) => prepared(clientsOf(options), requireMigrated)
}

const applicationName = "tollgate"

const ledgerConnections = 2

/**
 * The batch statement is planned once per connection, while its tables may still be empty. With default settings that
 * plan would scan whole tables from then on. The high cost by which `enable_seqscan` forbids scans would in turn start
 * just-in-time compilation, which takes longer than the statement itself.
 */
const ledgerSettings = { enable_seqscan: "off", jit: "off", plan_cache_mode: "force_generic_plan" }

const postgresql = Effect.fnUntraced(function* (url: Redacted.Redacted, poolSize: number) {
  const general = yield* PgClient.make({ url, applicationName, minConnections: 1, maxConnections: poolSize })
  // Connections are opened when they are used, so the first statement is what finds out.
  yield* general`SELECT 1`
  const ledger = yield* PgClient.make({
    url,
    applicationName: `${applicationName}-ledger`,
    minConnections: ledgerConnections,
    maxConnections: ledgerConnections,
    startupParameters: ledgerSettings
  })
  return { engine: "postgresql", general, ledger } satisfies Clients
}, Effect.mapError(unreachable))

/** Opens the embedded engine. It is imported only when it is needed, because it takes a hundred megabytes. */
const openEmbedded = (location: string): Effect.Effect<PGlite, DataDirectory.DataDirectoryError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => import("./EmbeddedEngine.ts").then(({ openEngine }) => openEngine(location)),
      catch: (cause) => DataDirectory.unusable(location, cause)
    }),
    (database) => Effect.promise(() => database.close())
  )

const embeddedAt = Effect.fnUntraced(function* (location: string) {
  const database = yield* openEmbedded(location)
  const client = yield* PgClient.make({
    stream: connectTo(database),
    username: "postgres",
    database: "postgres",
    minConnections: 1,
    maxConnections: 1
  })
  return { engine: "embedded", general: client, ledger: client } satisfies Clients
})

const embedded = (dataDir: string) => Effect.flatMap(DataDirectory.lockDataDirectory(dataDir), embeddedAt)

const clientsOf = ({
  dataDir,
  poolSize,
  url
}: DatabaseOptions): Effect.Effect<Clients, StartError, Scope.Scope | Reactivity.Reactivity> =>
  url === undefined ? embedded(dataDir) : postgresql(url, poolSize)

const prepared = <E extends StartError>(
  connect: Effect.Effect<Clients, E, Scope.Scope | Reactivity.Reactivity>,
  prepare: Effect.Effect<unknown, StartError, SqlClient.SqlClient>
): Layer.Layer<Database | PgClient.PgClient | SqlClient.SqlClient, StartError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { engine, general, ledger } = yield* connect
      yield* Effect.provideService(prepare, SqlClient.SqlClient, general)
      const ping = Effect.asVoid(general`SELECT 1`)
      return Context.make(Database, Database.of({ engine, ledger, ping })).pipe(
        Context.add(PgClient.PgClient, general),
        Context.add(SqlClient.SqlClient, general)
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))
