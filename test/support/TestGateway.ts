/**
 * The whole gateway over a socket, for suites that see it as its clients do: always on the embedded engine, and on
 * PostgreSQL where it is available. Without provider keys in its environment the sandbox answers.
 */
import { randomUUID } from "node:crypto"

import { describe, layer, type Vitest } from "@effect/vitest"
import {
  ConfigProvider,
  Context,
  type Duration,
  Effect,
  Layer,
  Logger,
  Metric,
  Option,
  Redacted,
  References,
  Schedule
} from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"
import { inject } from "vitest"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import type { NewKey } from "../../src/access/ApiKeyTable.ts"
import { firstOrganization } from "../../src/access/Bootstrap.ts"
import { settings } from "../../src/Config.ts"
import type { ApiKeyId, EnvironmentId, OrganizationId } from "../../src/domain/Ids.ts"
import { environmentId, organizationId, projectId, requestId } from "../../src/domain/Ids.ts"
import { fromUsd, type Picodollars } from "../../src/domain/Money.ts"
import type { Balance } from "../../src/ledger/Balance.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { LedgerError } from "../../src/ledger/LedgerError.ts"
import { gateway } from "../../src/main.ts"
import type { Database } from "../../src/sql/Database.ts"
import { checkedServerLayer } from "./ContractCheck.ts"
import { environmentOf, FakeProvider } from "./fake-provider/FakeProvider.ts"
import type { Environment } from "./GatewayEnvironment.ts"
import { driven } from "./HttpDriver.ts"
import { dataDirectory, postgresDatabase } from "./TestDatabase.ts"

/** An answer over HTTP, read whole. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The member of the JSON body at a path such as `error.code`. Fails the test when the body is not JSON. */
  readonly at: (path: string) => unknown
}

export interface Tenant {
  readonly organization: OrganizationId
  readonly environment: EnvironmentId
  readonly key: string
  readonly keyId: ApiKeyId
  readonly openai: OpenAI
}

type SendRequest = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>
) => Effect.Effect<Reply>

export class TestGateway extends Context.Service<
  TestGateway,
  {
    readonly url: string
    /** The API key of the first organization, which has ten dollars. */
    readonly key: string
    readonly openai: OpenAI
    /**
     * Sends a request as the first organization, unless `headers` has another key. Text and bytes are sent as they are,
     * anything else as JSON.
     */
    readonly request: SendRequest
    /** The same as an operator, with the admin key of the environment. */
    readonly admin: SendRequest
    readonly chat: (body: unknown, headers?: Record<string, string>) => Effect.Effect<Reply>
    /** A new organization with this credit in USD, and a key with these properties. */
    readonly tenant: (credit: string, key?: Partial<NewKey>) => Effect.Effect<Tenant>
    readonly balance: (organization?: OrganizationId) => Effect.Effect<Balance, LedgerError>
    readonly openHolds: Effect.Effect<number>
    /** The number of open holds, once the holds of requests that are just ending have had a minute to be closed. */
    readonly lingeringHolds: Effect.Effect<number>
    /** The variables that the gateway was started with; a second gateway started with them is a replica. */
    readonly variables: Environment
    /** Every line that the gateway has logged so far, at any level. */
    readonly logs: Effect.Effect<ReadonlyArray<string>>
  }
>()("tollgate/test/TestGateway") {}

export type Services = TestGateway | ApiKeys | CreditLedger | Database | SqlClient.SqlClient

export const usd = (amount: string): Picodollars => Option.getOrThrow(fromUsd(amount))

const bootstrapKey = "tg-acceptance-key-of-the-first-organization"
/** The operator's key in the environment of every gateway. */
export const adminKey = "tg-admin-acceptance-key-of-the-operator"

const member = (json: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
      json
    )

const isRaw = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof Uint8Array

const client = (url: string, key: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })

const make = Effect.fnUntraced(function* (variables: Environment, logs: ReadonlyArray<string>) {
  const { address } = yield* HttpServer.HttpServer
  const keys = yield* ApiKeys
  const ledger = yield* CreditLedger
  const sql = yield* SqlClient.SqlClient
  const url = HttpServer.formatAddress(address)

  const request: SendRequest = (method, path, body, headers = {}) =>
    Effect.promise(async () => {
      const response = await driven(url + path, {
        method,
        headers: { authorization: `Bearer ${bootstrapKey}`, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) })
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        at: (path: string) => member(JSON.parse(text), path)
      }
    })

  const tenant: TestGateway["Service"]["tenant"] = Effect.fnUntraced(function* (credit, key = {}) {
    const organization = organizationId(randomUUID())
    const project = projectId(randomUUID())
    const environment = environmentId(randomUUID())
    yield* sql`INSERT INTO organization (id, name, created_at) VALUES (${organization}, ${organization}, now())`
    yield* sql`
      INSERT INTO project (id, organization_id, name, created_at) VALUES (${project}, ${organization}, 'p', now())`
    yield* sql`
      INSERT INTO environment (id, project_id, name, created_at) VALUES (${environment}, ${project}, 'e', now())`
    const issued = yield* keys.issue({ environment, name: "test", ...key })
    if (usd(credit) > 0n) {
      yield* ledger.grant({ payment: requestId(randomUUID()), organization, amount: usd(credit) })
    }
    const secret = Redacted.value(issued.secret)
    return { organization, environment, key: secret, keyId: issued.id, openai: client(url, secret) }
  }, Effect.orDie)

  const openHolds = sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM credit_hold`.pipe(
    Effect.map(([row]) => Number(row?.count)),
    Effect.orDie
  )

  return TestGateway.of({
    url,
    key: bootstrapKey,
    openai: client(url, bootstrapKey),
    request,
    admin: (method, path, body, headers) =>
      request(method, path, body, { authorization: `Bearer ${adminKey}`, ...headers }),
    chat: (body, headers) => request("POST", "/v1/chat/completions", body, headers),
    tenant,
    balance: (organization = firstOrganization) => ledger.balance(organization),
    openHolds,
    lingeringHolds: openHolds.pipe(
      Effect.repeat({ until: (count) => count === 0, schedule: Schedule.spaced("40 millis"), times: 1_500 })
    ),
    variables,
    logs: Effect.sync(() => [...logs])
  })
})

/** Collects what is logged, each entry as a line of JSON. */
const collecting = (lines: Array<string>) =>
  Layer.merge(
    Logger.layer([Logger.map(Logger.formatStructured, (entry) => void lines.push(JSON.stringify(entry)))]),
    Layer.succeed(References.MinimumLogLevel, "All")
  )

/**
 * The gateway as `npm start` builds it from these variables, on a free port. `closesWithin` is how long requests in
 * flight may take when it closes: short, because suites leave requests behind that nobody answers.
 */
export const layerGateway = (environment: Environment, closesWithin: Duration.Input = "1 second") => {
  const variables = { BOOTSTRAP_API_KEY: bootstrapKey, ADMIN_API_KEY: adminKey, ...environment }
  const logs: Array<string> = []
  return Layer.effect(TestGateway, make(variables, logs)).pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(settings, (options) => gateway(options, checkedServerLayer(options.serviceName, closesWithin)))
      )
    ),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))),
    // Gateways of one process would share a registry, and each other's counts.
    Layer.provide(Layer.succeed(Metric.MetricRegistry, new Map())),
    Layer.provide(collecting(logs)),
    Layer.orDie
  )
}

/** Runs a suite against the whole gateway on every available engine, on the real clock. */
export const describeGateway = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services>) => void,
  environment: Environment = {}
): void => {
  onEngines(name, (database) => layerGateway({ ...database, ...environment }), suite)
}

/** Variables, or a function that makes them from the fake provider. */
type FakeProviderEnvironment = Environment | ((provider: FakeProvider["Service"]) => Environment)

/** The same on one engine, PostgreSQL where it is available: for what is slow and does not depend on the engine. */
export const describeGatewayOnce = (name: string, suite: (it: Vitest.MethodsNonLive<Services>) => void): void => {
  if (inject("postgresUrl") === undefined) onEmbeddedEngine(name, layerGateway, suite)
  else onPostgres(name, layerGateway, suite)
}

/**
 * The same with the fake provider behind the models of OpenAI and Anthropic. These are the only models, unless
 * `environment` switches on other providers.
 */
export const describeWithFakeProvider = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services | FakeProvider>) => void,
  environment: FakeProviderEnvironment = {}
): void => {
  onEngines(name, withFakeProvider(environment), suite)
}

/** The same on PostgreSQL alone, for what cannot be done to the embedded engine. */
export const describeWithFakeProviderOnPostgres = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services | FakeProvider>) => void,
  environment: Environment = {}
): void => {
  onPostgres(name, withFakeProvider(environment), suite)
}

const withFakeProvider = (environment: FakeProviderEnvironment) => (database: Environment) =>
  Layer.unwrap(
    Effect.map(FakeProvider, (provider) =>
      layerGateway({
        ...database,
        ...environmentOf(provider),
        ...(typeof environment === "function" ? environment(provider) : environment)
      })
    )
  ).pipe(Layer.provideMerge(FakeProvider.layer))

const options = { excludeTestServices: true, timeout: "3 minutes" } as const

/** Runs a suite on every available engine, against the gateway that `gatewayOn` makes from a database's variables. */
export const onEngines = <R>(
  name: string,
  gatewayOn: (database: Environment) => Layer.Layer<R>,
  suite: (it: Vitest.MethodsNonLive<R>) => void
): void => {
  onEmbeddedEngine(name, gatewayOn, suite)
  onPostgres(name, gatewayOn, suite)
}

const onEmbeddedEngine: typeof onEngines = (name, gatewayOn, suite) => {
  const embedded = Layer.unwrap(Effect.map(dataDirectory, (directory) => gatewayOn({ DATA_DIR: directory })))
  layer(embedded, options)(`${name} [embedded]`, suite)
}

const onPostgres = <R>(
  name: string,
  gatewayOn: (database: Environment) => Layer.Layer<R>,
  suite: (it: Vitest.MethodsNonLive<R>) => void
): void => {
  const server = inject("postgresUrl")
  if (server === undefined) {
    // There is no PostgreSQL on this machine, and the name of the suite reports that.
    describe.skip(`${name} [postgresql: none found]`, () => {})
    return
  }
  const postgres = Layer.unwrap(
    Effect.map(postgresDatabase(server), (url) => gatewayOn({ DATABASE_URL: Redacted.value(url) }))
  ).pipe(Layer.orDie)
  layer(postgres, options)(`${name} [postgresql]`, suite)
}
