/**
 * Every environment variable that the gateway reads, declared once with its type, its default and its meaning. The
 * table in the documentation and `.env.example` are checked against `variables`, so that no variable stays
 * undocumented.
 *
 * The variables with the keys and base URLs of providers are not here: the catalog names them, and
 * `catalog/ProviderAccounts.ts` reads them.
 */
import { Config, ConfigProvider, Duration, Effect, Option, Redacted } from "effect"

import { alertSettings } from "./config/AlertVariables.ts"
import {
  ApiKeyText,
  CorsOrigins,
  corsOriginsIn,
  GatewayUrl,
  positive,
  ServiceName,
  Usd,
  WorkerCount
} from "./config/Values.ts"
import { declaredVariables, explained, type SettingsError, variable } from "./config/Variables.ts"
import { fromUsd } from "./domain/Money.ts"

const databaseUrl = Config.option(Config.Redacted("DATABASE_URL")).pipe(Config.map(Option.getOrUndefined))

const allSettings = Config.all({
  port: variable(
    { name: "PORT", default: "8080", meaning: "Port to listen on." },
    Config.Port("PORT").pipe(Config.withDefault(8080))
  ),
  host: variable(
    { name: "HOST", default: "127.0.0.1", meaning: "Address to listen on; `0.0.0.0` in the image." },
    Config.NonEmptyString("HOST").pipe(Config.withDefault("127.0.0.1"))
  ),
  workers: variable(
    {
      name: "WORKERS",
      default: "1",
      meaning: "Processes that share the port, on PostgreSQL: a number, or `auto` for one per core."
    },
    Config.schema(WorkerCount, "WORKERS").pipe(
      Config.map((text) => (text === "auto" ? text : Number(text))),
      Config.withDefault(1)
    )
  ),
  serviceName: variable(
    {
      name: "SERVICE_NAME",
      default: "svc",
      meaning: "The service's own name: `svc` makes `svc-auto` the routed model and `svc` the metadata object."
    },
    Config.schema(ServiceName, "SERVICE_NAME").pipe(Config.withDefault("svc"))
  ),
  database: Config.all({
    url: variable(
      {
        name: "DATABASE_URL",
        default: "unset",
        meaning: "PostgreSQL, `postgres://user:password@host:5432/name`. Unset: the embedded engine in `DATA_DIR`."
      },
      databaseUrl
    ),
    poolSize: variable(
      {
        name: "DATABASE_POOL",
        default: "10",
        meaning: "Connections to PostgreSQL per gateway, beside two for the ledger."
      },
      positive("DATABASE_POOL").pipe(Config.withDefault(10))
    ),
    dataDir: variable(
      { name: "DATA_DIR", default: ".data", meaning: "Where the embedded engine keeps its data." },
      Config.NonEmptyString("DATA_DIR").pipe(Config.withDefault(".data"))
    )
  }),
  firstStart: Config.all({
    apiKey: variable(
      {
        name: "BOOTSTRAP_API_KEY",
        default: "generated and printed once",
        meaning: "On an empty database: the first organization's API key. With `DATABASE_URL` nothing is generated."
      },
      Config.option(Config.schema(ApiKeyText, "BOOTSTRAP_API_KEY").pipe(Config.map((key) => Redacted.make(key))))
    ),
    credit: variable(
      {
        name: "BOOTSTRAP_CREDIT_USD",
        default: "10",
        meaning: "On an empty database: the first organization's credit in USD."
      },
      Usd("BOOTSTRAP_CREDIT_USD").pipe(Config.withDefault(Option.getOrThrow(fromUsd("10"))))
    ),
    mayGenerate: Config.map(databaseUrl, (url) => url === undefined)
  }),
  environmentKey: variable(
    {
      name: "ADMIN_API_KEY",
      default: "generated and printed once; none with `DATABASE_URL`",
      meaning: "Opens the operator's routes under `/admin/v1`, where further admin keys can be made."
    },
    Config.option(Config.schema(ApiKeyText, "ADMIN_API_KEY").pipe(Config.map((key) => Redacted.make(key))))
  ),
  catalogFile: variable(
    {
      name: "CATALOG_FILE",
      default: "unset",
      meaning: "JSON file that adds providers and models to the shipped catalog or replaces them, in the same schema."
    },
    Config.option(Config.NonEmptyString("CATALOG_FILE"))
  ),
  requestsPerMinute: variable(
    {
      name: "RATE_LIMIT_RPM",
      default: "600",
      meaning: "Requests per minute and key, on all replicas together; a key may carry its own limit."
    },
    positive("RATE_LIMIT_RPM").pipe(Config.withDefault(600))
  ),
  maxBodyBytes: variable(
    { name: "MAX_BODY_BYTES", default: "33554432", meaning: "Largest chat request body in bytes." },
    positive("MAX_BODY_BYTES").pipe(Config.withDefault(32 * 1024 * 1024))
  ),
  corsOrigins: variable(
    {
      name: "CORS_ORIGINS",
      default: "unset",
      meaning:
        "Origins whose pages may call `/v1` from a browser, with commas between them, or `*` for all. Unset: none."
    },
    Config.option(Config.schema(CorsOrigins, "CORS_ORIGINS")).pipe(
      Config.map((text) => Option.getOrUndefined(Option.map(text, corsOriginsIn)))
    )
  ),
  maxUploads: variable(
    {
      name: "MAX_UPLOADS",
      default: "8",
      meaning:
        "Audio files in memory at a time, up to 25 MiB each, until they are transcribed; organizations share them."
    },
    positive("MAX_UPLOADS").pipe(Config.withDefault(8))
  ),
  transcriptionModel: variable(
    {
      name: "TRANSCRIPTION_MODEL",
      default: "gpt-4o-transcribe",
      meaning: "Turns audio into text when the request leaves the choice to the gateway; a catalog id with audio input."
    },
    Config.NonEmptyString("TRANSCRIPTION_MODEL").pipe(Config.withDefault("gpt-4o-transcribe"))
  ),
  defaultOutputTokens: Config.all({
    none: variable(
      {
        name: "ESTIMATE_OUTPUT_TOKENS_NONE",
        default: "1024",
        meaning: "Output tokens held for a request without `max_completion_tokens` that does not reason."
      },
      positive("ESTIMATE_OUTPUT_TOKENS_NONE").pipe(Config.withDefault(1_024))
    ),
    low: variable(
      { name: "ESTIMATE_OUTPUT_TOKENS_LOW", default: "2048", meaning: "The same for a request that reasons a little." },
      positive("ESTIMATE_OUTPUT_TOKENS_LOW").pipe(Config.withDefault(2_048))
    ),
    high: variable(
      { name: "ESTIMATE_OUTPUT_TOKENS_HIGH", default: "8192", meaning: "The same for a request that reasons a lot." },
      positive("ESTIMATE_OUTPUT_TOKENS_HIGH").pipe(Config.withDefault(8_192))
    )
  }),
  requestLogDays: variable(
    {
      name: "REQUEST_LOG_DAYS",
      default: "unset",
      meaning: "How many days receipts are kept. Unset: for good. The journal of credit is always kept."
    },
    Config.option(positive("REQUEST_LOG_DAYS")).pipe(Config.map(Option.getOrUndefined))
  ),
  alerts: alertSettings(),
  shutdownTimeout: variable(
    {
      name: "SHUTDOWN_TIMEOUT",
      default: "20 seconds",
      meaning: "How long requests in flight may go on after SIGTERM."
    },
    Config.Duration("SHUTDOWN_TIMEOUT").pipe(Config.withDefault(Duration.seconds(20)))
  ),
  logLevel: variable(
    { name: "LOG_LEVEL", default: "Info", meaning: "`Trace`, `Debug`, `Info`, `Warn`, `Error` or `None`." },
    Config.LogLevel("LOG_LEVEL").pipe(Config.withDefault("Info" as const))
  ),
  accessLog: variable(
    { name: "ACCESS_LOG", default: "true", meaning: "Whether every request gets one line in the log, at `Info`." },
    Config.Boolean("ACCESS_LOG").pipe(Config.withDefault(true))
  ),
  metrics: Config.all({
    areServed: variable(
      { name: "METRICS", default: "true", meaning: "Whether `GET /metrics` answers with metrics for Prometheus." },
      Config.Boolean("METRICS").pipe(Config.withDefault(true))
    ),
    key: variable(
      {
        name: "METRICS_KEY",
        default: "unset",
        meaning: "The bearer token that `GET /metrics` asks for. Unset: whoever reaches the port may read the metrics."
      },
      Config.option(Config.schema(ApiKeyText, "METRICS_KEY").pipe(Config.map((key) => Redacted.make(key))))
    )
  }),
  otlpEndpoint: variable(
    {
      name: "OTEL_EXPORTER_OTLP_ENDPOINT",
      default: "unset",
      meaning: "Base URL of an OTLP/HTTP collector for traces, metrics and logs."
    },
    Config.option(Config.NonEmptyString("OTEL_EXPORTER_OTLP_ENDPOINT"))
  )
})

export type Settings = Config.Success<typeof allSettings>

/** Reads all variables. A malformed value fails with the name of the variable and what was expected. */
export const settings: Effect.Effect<Settings, SettingsError> = Effect.mapError(allSettings, explained)

/** For the commands of operators; the gateway does not read it. */
export const gatewayUrl: Effect.Effect<Option.Option<string>, SettingsError> = variable(
  {
    name: "TOLLGATE_URL",
    default: "http://HOST:PORT",
    meaning: "Where the commands `tollgate org`, `key`, `credit` and so on find the gateway; it does not read this."
  },
  Config.option(Config.schema(GatewayUrl, "TOLLGATE_URL"))
).pipe(Effect.mapError(explained))

/** The variables of this process. An empty one counts as unset, because container tools pass unset variables so. */
export const environment = ConfigProvider.fromEnv({
  env: Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
})

/** All documented variables, in the order of declaration. */
export const variables = declaredVariables
