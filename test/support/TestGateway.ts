/**
 * The whole gateway over a socket, for suites that look at it as its clients do: on the embedded engine always, and on
 * PostgreSQL when one can be had. Without provider keys in `environment` the sandbox answers.
 */
import { randomUUID } from "node:crypto"

import { describe, layer, type Vitest } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Logger, Option, Redacted, References, Schedule } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"
import { inject } from "vitest"

import { ApiKeys, type NewKey } from "../../src/access/ApiKeys.ts"
import { firstOrganization } from "../../src/access/Bootstrap.ts"
import { settings } from "../../src/Config.ts"
import type { ApiKeyId, EnvironmentId, OrganizationId } from "../../src/domain/Ids.ts"
import { environmentId, organizationId, projectId, requestId } from "../../src/domain/Ids.ts"
import { fromUsd, type Picodollars } from "../../src/domain/Money.ts"
import { type Balance, CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { LedgerError } from "../../src/ledger/LedgerError.ts"
import { gateway } from "../../src/main.ts"
import type { Database } from "../../src/sql/Database.ts"
import { checkedServerLayer } from "./ContractCheck.ts"
import * as Fake from "./fake-provider/FakeProvider.ts"
import type { Environment } from "./GatewayEnvironment.ts"
import { dataDirectory, postgresDatabase } from "./TestDatabase.ts"

/** An answer over HTTP, read whole. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The member of the JSON body at a path such as `error.code`; fails the test when the body is no JSON. */
  readonly at: (path: string) => unknown
}

export interface Tenant {
  readonly organization: OrganizationId
  readonly environment: EnvironmentId
  readonly key: string
  readonly keyId: ApiKeyId
  readonly openai: OpenAI
}

export class TestGateway extends Context.Service<
  TestGateway,
  {
    readonly url: string
    /** The first organization, with ten dollars. */
    readonly key: string
    readonly openai: OpenAI
    /** Sends as the first organization unless `headers` say otherwise; text and bytes as they are, the rest as JSON. */
    readonly request: (
      method: string,
      path: string,
      body?: unknown,
      headers?: Record<string, string>
    ) => Effect.Effect<Reply>
    readonly chat: (body: unknown, headers?: Record<string, string>) => Effect.Effect<Reply>
    /** An organization of its own, with a key of these properties. */
    readonly tenant: (credit: string, key?: Partial<NewKey>) => Effect.Effect<Tenant>
    readonly balance: (organization?: OrganizationId) => Effect.Effect<Balance, LedgerError>
    readonly openHolds: Effect.Effect<number>
    /** Holds that are still open when those of requests that are just ending have had two seconds to go. */
    readonly lingeringHolds: Effect.Effect<number>
    /** What the gateway was started with; another one started with it is a replica. */
    readonly variables: Environment
    /** Every line the gateway has logged so far, at every level. */
    readonly logs: Effect.Effect<ReadonlyArray<string>>
  }
>()("tollgate/test/TestGateway") {}

export type Services = TestGateway | ApiKeys | CreditLedger | Database | SqlClient.SqlClient

export const usd = (amount: string): Picodollars => Option.getOrThrow(fromUsd(amount))

const bootstrapKey = "tg-acceptance-key-of-the-first-organization"

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

  const request: TestGateway["Service"]["request"] = (method, path, body, headers = {}) =>
    Effect.promise(async () => {
      const response = await fetch(url + path, {
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
    chat: (body, headers) => request("POST", "/v1/chat/completions", body, headers),
    tenant,
    balance: (organization = firstOrganization) => ledger.balance(organization),
    openHolds,
    lingeringHolds: openHolds.pipe(
      Effect.repeat({ until: (count) => count === 0, schedule: Schedule.spaced("40 millis"), times: 50 })
    ),
    variables,
    logs: Effect.sync(() => [...logs])
  })
})
const collecting = (lines: Array<string>) =>
  Layer.merge(
    Logger.layer([Logger.map(Logger.formatStructured, (entry) => void lines.push(JSON.stringify(entry)))]),
    Layer.succeed(References.MinimumLogLevel, "All")
  )

/** The gateway as `npm start` would build it from these variables, on a free port. */
export const layerGateway = (environment: Environment) => {
  const variables = { BOOTSTRAP_API_KEY: bootstrapKey, ...environment }
  const logs: Array<string> = []
  return Layer.effect(TestGateway, make(variables, logs)).pipe(
    Layer.provideMerge(
      Layer.unwrap(Effect.map(settings, (options) => gateway(options, checkedServerLayer(options.serviceName))))
    ),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))),
    Layer.provide(collecting(logs)),
    Layer.orDie
  )
}

/** Runs a suite against the whole gateway on every engine there is, on the real clock. */
export const describeGateway = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services>) => void,
  environment: Environment = {}
): void => {
  onEngines(name, (database) => layerGateway({ ...database, ...environment }), suite)
}

/** Variables, or what makes them of the scripted provider's address. */
type ScriptedEnvironment = Environment | ((provider: Fake.FakeProvider["Service"]) => Environment)

/**
 * The same with a scripted provider behind the models of OpenAI and Anthropic, the only ones there are unless
 * `environment` switches on others.
 */
export const describeScripted = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services | Fake.FakeProvider>) => void,
  environment: ScriptedEnvironment = {}
): void => {
  onEngines(name, scripted(environment), suite)
}

/** The same on PostgreSQL alone, for what the embedded engine cannot suffer. */
export const describeScriptedOnPostgres = (
  name: string,
  suite: (it: Vitest.MethodsNonLive<Services | Fake.FakeProvider>) => void,
  environment: Environment = {}
): void => {
  onPostgres(name, scripted(environment), suite)
}

const scripted = (environment: ScriptedEnvironment) => (database: Environment) =>
  Layer.unwrap(
    Effect.map(Fake.FakeProvider, (provider) =>
      layerGateway({
        ...database,
        ...Fake.environmentOf(provider),
        ...(typeof environment === "function" ? environment(provider) : environment)
      })
    )
  ).pipe(Layer.provideMerge(Fake.FakeProvider.layer))

const options = { excludeTestServices: true, timeout: "20 seconds" } as const

/** Runs a suite on every engine there is, against the gateway that `gatewayOn` makes of a database's variables. */
export const onEngines = <R>(
  name: string,
  gatewayOn: (database: Environment) => Layer.Layer<R>,
  suite: (it: Vitest.MethodsNonLive<R>) => void
): void => {
  const embedded = Layer.unwrap(Effect.map(dataDirectory, (directory) => gatewayOn({ DATA_DIR: directory })))
  layer(embedded, options)(`${name} [embedded]`, suite)
  onPostgres(name, gatewayOn, suite)
}

const onPostgres = <R>(
  name: string,
  gatewayOn: (database: Environment) => Layer.Layer<R>,
  suite: (it: Vitest.MethodsNonLive<R>) => void
): void => {
  const server = inject("postgresUrl")
  if (server === undefined) {
    // No PostgreSQL could be had on this machine; the name of the suite says so.
    describe.skip(`${name} [postgresql: none found]`, () => {})
    return
  }
  const postgres = Layer.unwrap(
    Effect.map(postgresDatabase(server), (url) => gatewayOn({ DATABASE_URL: Redacted.value(url) }))
  ).pipe(Layer.orDie)
  layer(postgres, options)(`${name} [postgresql]`, suite)
}
