/**
 * The map of the gateway: every layer, one per line, from the server down to the database. `npm start` runs it.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, ConfigProvider, Duration, Effect, Exit, FileSystem, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServer } from "effect/http"

import { ApiKeys } from "./access/ApiKeys.ts"
import { RateLimits } from "./access/RateLimits.ts"
import { Catalog, loadCatalog } from "./catalog/Catalog.ts"
import { CatalogError } from "./catalog/CatalogFile.ts"
import * as Accounts from "./catalog/ProviderAccounts.ts"
import { environment, type Settings, settings } from "./Config.ts"
import { ChooseTargets } from "./gateway/ChooseTargets.ts"
import { ChooseTranscriptionTargets } from "./gateway/ChooseTranscriptionTargets.ts"
import { CompleteChat } from "./gateway/CompleteChat.ts"
import * as FirstStart from "./gateway/FirstStart.ts"
import { TranscribeAudio } from "./gateway/TranscribeAudio.ts"
import { Drain } from "./http/edge/Drain.ts"
import * as NodeServer from "./http/edge/NodeServer.ts"
import * as Server from "./http/Server.ts"
import { RecordedAnswers } from "./idempotency/RecordedAnswers.ts"
import { CreditLedger } from "./ledger/CreditLedger.ts"
import { describeError } from "./observability/ErrorDescription.ts"
import * as Telemetry from "./observability/Telemetry.ts"
import { Dispatch } from "./providers/dispatch/Dispatch.ts"
import * as PriceList from "./receipts/PriceList.ts"
import { RequestLog } from "./receipts/RequestLog.ts"
import { Router } from "./routing/Router.ts"
import { SessionPins } from "./routing/SessionPins.ts"
import { Sandbox } from "./sandbox/Sandbox.ts"
import { Database } from "./sql/Database.ts"

/** Silence on a stream after which the client gets a comment; load balancers give up at sixty seconds. */
const keepAliveEvery = Duration.seconds(10)

/** The catalog with the accounts the environment switches on, or with the sandbox behind every model. */
const providers = Effect.fnUntraced(function* (catalogFile: Option.Option<string>) {
  const files = yield* FileSystem.FileSystem
  const overlay = Option.isNone(catalogFile) ? undefined : yield* files.readFileString(catalogFile.value)
  const known = (yield* Effect.fromResult(loadCatalog(overlay)).pipe(Effect.mapError(inFile))).providers
  const accounts = yield* Accounts.configured(known.values())
  const sandbox = accounts.size === 0
  const catalog = (on: Accounts.ProviderAccounts) =>
    Catalog.layer({ overlay, account: (provider) => Effect.succeed(on.get(provider.id)) })
  const simulated = Layer.unwrap(
    Effect.map(Sandbox, ({ baseUrlFor }) => catalog(Accounts.simulated(known.values(), baseUrlFor)))
  ).pipe(Layer.provide(Sandbox.layer))
  return { sandbox, catalog: sandbox ? simulated : catalog(accounts) }
})

const inFile = ({ message, path }: CatalogError) => new CatalogError({ path, message: `CATALOG_FILE: ${message}` })

/** The whole gateway on a socket, which is opened once everything below it is ready. */
export const gateway = <E, R>(options: Settings, socket: Layer.Layer<HttpServer.HttpServer, E, R>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { catalog, sandbox } = yield* providers(options.catalogFile)
      const server = Effect.map(Database, ({ engine, ping }) =>
        Server.serverLayer({ ...options, keepAliveEvery, database: ping, engine, sandbox }, socket)
      )
      return Layer.effectDiscard(announce(options, sandbox)).pipe(
        Layer.provideMerge(Layer.unwrap(server)),
        Layer.provide(NodeHttpServer.layerHttpServices),
        Layer.provide(firstStart(options)),
        Layer.provide(Drain.layer),
        Layer.provide(CompleteChat.layer({ defaultOutputTokens: outputTokens(options) })),
        Layer.provide(TranscribeAudio.layer),
        Layer.provide(ChooseTargets.layer),
        Layer.provide(ChooseTranscriptionTargets.layer(options)),
        Layer.provide(Router.layer),
        Layer.provide(Dispatch.layer),
        Layer.provide(PriceList.priceListLayer),
        Layer.provide(catalog),
        Layer.provide(RateLimits.layer({ requestsPerMinute: options.rateLimit })),
        Layer.provideMerge(ApiKeys.layer),
        Layer.provideMerge(CreditLedger.layer),
        Layer.provide(SessionPins.layer),
        Layer.provide(RequestLog.layer),
        Layer.provide(RecordedAnswers.layer),
        Layer.provide(SecureRandom.layerWebCrypto),
        Layer.provideMerge(database(options))
      )
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))

const outputTokens = (options: Settings) => ({
  none: options.estimateNone,
  low: options.estimateLow,
  high: options.estimateHigh
})

const firstStart = (options: Settings) =>
  FirstStart.firstStartLayer({
    apiKey: options.bootstrapApiKey,
    mayGenerate: Option.isNone(options.databaseUrl),
    credit: options.bootstrapCredit
  })

const database = (options: Settings) =>
  Database.layer({
    url: Option.getOrUndefined(options.databaseUrl),
    dataDir: options.dataDir,
    poolSize: options.databasePool
  })

/** Where the gateway listens. Requests in flight at a SIGTERM may finish within the limit. */
const listening = (options: Settings) =>
  NodeHttpServer.layer(NodeServer.createNodeServer, {
    port: options.port,
    host: options.host,
    gracefulShutdownTimeout: options.shutdownTimeout
  })

/** What an operator should know at start. */
const announce = Effect.fnUntraced(function* (options: Settings, sandbox: boolean) {
  const { begin } = yield* Drain
  // Built last, and so closed first: before the server begins to wait for its requests.
  yield* Effect.addFinalizer(() => begin(options.shutdownTimeout))
  const { engine } = yield* Database
  const { address } = yield* HttpServer.HttpServer
  yield* Effect.log(`Tollgate listens on ${HttpServer.formatAddress(address)}; the API reference is at /docs`)
  if (sandbox) {
    yield* Effect.logWarning("No provider key is set: every model is SIMULATED. Set one, such as OPENAI_API_KEY")
  }
  if (engine === "embedded") {
    yield* Effect.logWarning(
      `The embedded database in ${options.dataDir} survives a killed process, not a power cut. ` +
        "Set DATABASE_URL for money that matters"
    )
  }
})

/** One readable line for what an operator can mend; the whole cause for what only we can. */
const report = (cause: Cause.Cause<unknown>) => {
  const failed = cause.reasons.find((reason) => reason._tag === "Fail")
  return failed === undefined
    ? Effect.logFatal("Tollgate stopped", cause)
    : Effect.logFatal(`Tollgate cannot start: ${describeError(failed.error)}`)
}

const run = Effect.gen(function* () {
  const options = yield* Effect.tapCause(settings, report)
  const telemetry = Telemetry.telemetryLayer({
    logLevel: options.logLevel,
    otlpEndpoint: Option.getOrUndefined(options.otlpEndpoint)
  })
  return yield* Layer.launch(gateway(options, listening(options))).pipe(
    Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : report(cause))),
    Effect.provide(telemetry)
  )
}).pipe(Effect.provide(ConfigProvider.layer(environment)))

if (import.meta.main) {
  NodeRuntime.runMain(run, {
    disableErrorReporting: true,
    // A drained gateway has done what it was asked to: being stopped is its way to succeed.
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
  })
}
