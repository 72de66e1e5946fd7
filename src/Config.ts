/**
 * Every environment variable the gateway reads, once: its type, its default and what it means. The README's table and
 * `.env.example` are checked against `variables`, so a variable cannot exist without being documented.
 *
 * A provider's key and base URL are the exception: their names are data in the catalog, see `account`.
 */
import { Config, ConfigProvider, Duration, Effect, Option, Redacted, Schema } from "effect"

import type { Account, AwsCredentials, Provider } from "./catalog/Provider.ts"
import { fromUsd, type Picodollars } from "./domain/Money.ts"

interface Variable<A> {
  readonly name: string
  /** The default, as shown to people. */
  readonly default: string
  readonly meaning: string
  readonly config: Config.Config<A>
}

/** A service that took one of these names would hide it. */
const completionMembers = ["id", "object", "created", "model", "choices", "usage", "error", "system_fingerprint"]
const uploadFields = ["file", "language", "prompt", "temperature", "response_format", "call_name", "metadata"]
const reservedNames = [...completionMembers, ...uploadFields]

const ServiceName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_]{0,31}$/, { expected: "a name of lower-case letters, digits and underscores" }),
  Schema.makeFilter((name) => !reservedNames.includes(name), { expected: `none of ${reservedNames.join(", ")}` })
)

const UsdText = Schema.String.check(
  Schema.isPattern(/^\d{1,6}(\.\d{1,12})?$/, { expected: "an amount of USD such as 10 or 2.50" })
)

const Usd = (name: string): Config.Config<Picodollars> =>
  Config.schema(UsdText, name).pipe(Config.map((text) => Option.getOrThrow(fromUsd(text))))

const positive = (name: string): Config.Config<number> =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(1)), name)

const table = {
  port: {
    name: "PORT",
    default: "8080",
    meaning: "Port to listen on.",
    config: Config.Port("PORT").pipe(Config.withDefault(8080))
  },
  host: {
    name: "HOST",
    default: "127.0.0.1",
    meaning: "Address to listen on; `0.0.0.0` in the image.",
    config: Config.NonEmptyString("HOST").pipe(Config.withDefault("127.0.0.1"))
  },
  serviceName: {
    name: "SERVICE_NAME",
    default: "svc",
    meaning: "The service's own name: `svc` makes `svc-auto` the routed model and `svc` the metadata object.",
    config: Config.schema(ServiceName, "SERVICE_NAME").pipe(Config.withDefault("svc"))
  },
  databaseUrl: {
    name: "DATABASE_URL",
    default: "unset",
    meaning: "PostgreSQL, `postgres://user:password@host:5432/name`. Unset: the embedded engine in `DATA_DIR`.",
    config: Config.option(Config.Redacted("DATABASE_URL"))
  },
  databasePool: {
    name: "DATABASE_POOL",
    default: "10",
    meaning: "Connections to PostgreSQL per gateway, beside two for the ledger.",
    config: positive("DATABASE_POOL").pipe(Config.withDefault(10))
  },
  dataDir: {
    name: "DATA_DIR",
    default: ".data",
    meaning: "Where the embedded engine keeps its data.",
    config: Config.NonEmptyString("DATA_DIR").pipe(Config.withDefault(".data"))
  },
  bootstrapApiKey: {
    name: "BOOTSTRAP_API_KEY",
    default: "generated and printed once",
    meaning: "On an empty database: the first organization's API key. With `DATABASE_URL` nothing is generated.",
    config: Config.option(Config.Redacted("BOOTSTRAP_API_KEY"))
  },
  bootstrapCredit: {
    name: "BOOTSTRAP_CREDIT_USD",
    default: "10",
    meaning: "On an empty database: the first organization's credit in USD.",
    config: Usd("BOOTSTRAP_CREDIT_USD").pipe(Config.withDefault(Option.getOrThrow(fromUsd("10"))))
  },
  catalogFile: {
    name: "CATALOG_FILE",
    default: "unset",
    meaning: "JSON file that adds providers and models to the shipped catalog or replaces them, in the same schema.",
    config: Config.option(Config.NonEmptyString("CATALOG_FILE"))
  },
  rateLimit: {
    name: "RATE_LIMIT_RPM",
    default: "600",
    meaning: "Requests per minute and key, counted by each replica; a key may carry its own limit.",
    config: positive("RATE_LIMIT_RPM").pipe(Config.withDefault(600))
  },
  maxBodyBytes: {
    name: "MAX_BODY_BYTES",
    default: "33554432",
    meaning: "Largest chat request body in bytes.",
    config: positive("MAX_BODY_BYTES").pipe(Config.withDefault(32 * 1024 * 1024))
  },
  maxUploads: {
    name: "MAX_UPLOADS",
    default: "8",
    meaning: "Audio files in memory at a time, each of up to 25 MiB, until they are transcribed; more are refused.",
    config: positive("MAX_UPLOADS").pipe(Config.withDefault(8))
  },
  transcriptionModel: {
    name: "TRANSCRIPTION_MODEL",
    default: "gpt-4o-transcribe",
    meaning: "Turns audio into text when the request leaves the choice to the gateway; a catalog id with audio input.",
    config: Config.NonEmptyString("TRANSCRIPTION_MODEL").pipe(Config.withDefault("gpt-4o-transcribe"))
  },
  estimateNone: {
    name: "ESTIMATE_OUTPUT_TOKENS_NONE",
    default: "1024",
    meaning: "Output tokens held for a request without `max_completion_tokens` that does not reason.",
    config: positive("ESTIMATE_OUTPUT_TOKENS_NONE").pipe(Config.withDefault(1_024))
  },
  estimateLow: {
    name: "ESTIMATE_OUTPUT_TOKENS_LOW",
    default: "2048",
    meaning: "The same for a request that reasons a little.",
    config: positive("ESTIMATE_OUTPUT_TOKENS_LOW").pipe(Config.withDefault(2_048))
  },
  estimateHigh: {
    name: "ESTIMATE_OUTPUT_TOKENS_HIGH",
    default: "8192",
    meaning: "The same for a request that reasons a lot.",
    config: positive("ESTIMATE_OUTPUT_TOKENS_HIGH").pipe(Config.withDefault(8_192))
  },
  shutdownTimeout: {
    name: "SHUTDOWN_TIMEOUT",
    default: "20 seconds",
    meaning: "How long requests in flight may go on after SIGTERM.",
    config: Config.Duration("SHUTDOWN_TIMEOUT").pipe(Config.withDefault(Duration.seconds(20)))
  },
  logLevel: {
    name: "LOG_LEVEL",
    default: "Info",
    meaning: "`Trace`, `Debug`, `Info`, `Warn`, `Error` or `None`.",
    config: Config.LogLevel("LOG_LEVEL").pipe(Config.withDefault("Info" as const))
  },
  otlpEndpoint: {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    default: "unset",
    meaning: "Base URL of an OTLP/HTTP collector for traces, metrics and logs.",
    config: Config.option(Config.NonEmptyString("OTEL_EXPORTER_OTLP_ENDPOINT"))
  }
} satisfies Record<string, Variable<unknown>>

/** For documentation, and for the test that compares it with the documentation. */
export const variables: ReadonlyArray<Pick<Variable<unknown>, "name" | "default" | "meaning">> = Object.values(table)

export type Settings = {
  readonly [Key in keyof typeof table]: Config.Success<(typeof table)[Key]["config"]>
}

/** Reads all of them. A malformed value fails the start with the variable's name and what it should have been. */
export const settings: Effect.Effect<Settings, Config.ConfigError> = Effect.gen(function* () {
  const values: Record<string, unknown> = {}
  for (const [key, variable] of Object.entries(table)) values[key] = yield* variable.config
  // Each key was just read through the config of the same key.
  return values as Settings
})

/**
 * A provider's account: on when its key is set, or, for servers without keys, when its base URL is. `{region}` in the
 * catalog's base URL is AWS's region.
 */
export const account = Effect.fnUntraced(function* (provider: Provider) {
  const key = yield* Config.option(Config.Redacted(provider.apiKeyEnv))
  const baseUrl = yield* Config.option(Config.URL(provider.baseUrlEnv))
  const region = yield* awsRegion
  // A key of Bedrock's own comes before credentials, as it does in the SDKs of AWS.
  const aws = provider.auth === "aws-sigv4" && Option.isNone(key) ? yield* awsCredentials(region) : undefined
  const isOn = Option.isSome(key) || aws !== undefined || (provider.auth === "none" && Option.isSome(baseUrl))
  if (!isOn) return undefined
  return {
    provider,
    baseUrl: Option.match(baseUrl, {
      onNone: () => provider.baseUrl.replace("{region}", region),
      onSome: (url) => url.href.replace(/\/+$/, "")
    }),
    apiKey: Option.getOrElse(key, () => Redacted.make("")),
    ...(aws && { aws })
  } satisfies Account
})

/** The region of the shipped catalog's model ids, where nothing else is said. */
const awsRegion = Config.NonEmptyString("AWS_REGION").pipe(
  Config.orElse(() => Config.NonEmptyString("AWS_DEFAULT_REGION")),
  Config.withDefault("us-east-1")
)

const awsCredentials = Effect.fnUntraced(function* (region: string) {
  const accessKeyId = yield* Config.option(Config.NonEmptyString("AWS_ACCESS_KEY_ID"))
  const secretAccessKey = yield* Config.option(Config.Redacted("AWS_SECRET_ACCESS_KEY"))
  const sessionToken = yield* Config.option(Config.Redacted("AWS_SESSION_TOKEN"))
  if (Option.isNone(accessKeyId) || Option.isNone(secretAccessKey)) return undefined
  return {
    accessKeyId: accessKeyId.value,
    secretAccessKey: secretAccessKey.value,
    ...(Option.isSome(sessionToken) && { sessionToken: sessionToken.value }),
    region
  } satisfies AwsCredentials
})

/** Where all of it comes from. An empty variable, as container tools pass it, is an unset one. */
export const environment = ConfigProvider.fromEnv({
  env: Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
})
