/**
 * The map of the program: every layer of the gateway, one per line, from the server down to the platform. A layer may
 * use all layers below it. Layers start from the bottom up and stop from the top down. `npm start` runs it.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, ConfigProvider, Effect, Exit, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { HttpServer } from "effect/http"

import { AdminKeys } from "./access/AdminKeys.ts"
import { ApiKeys } from "./access/ApiKeys.ts"
import { AuditTrail } from "./access/AuditTrail.ts"
import { Budgets } from "./access/Budgets.ts"
import { ConcurrencyLimits } from "./access/ConcurrencyLimits.ts"
import { Organizations } from "./access/Organizations.ts"
import { Projects } from "./access/Projects.ts"
import { RateLimits } from "./access/RateLimits.ts"
import { alertChecksLayer } from "./alerts/AlertChecks.ts"
import { Alerts } from "./alerts/Alerts.ts"
import { AlertSignal } from "./alerts/AlertSignal.ts"
import { Deliveries, deliveriesLayer } from "./alerts/Deliveries.ts"
import { DeliveryLog } from "./alerts/DeliveryLog.ts"
import { Webhooks } from "./alerts/Webhooks.ts"
import { WebhookSender } from "./alerts/WebhookSender.ts"
import { environment, type Settings, settings } from "./Config.ts"
import { AdjustCredit } from "./gateway/AdjustCredit.ts"
import { ChooseTargets } from "./gateway/ChooseTargets.ts"
import { ChooseTranscriptionTargets } from "./gateway/ChooseTranscriptionTargets.ts"
import { CompleteChat } from "./gateway/CompleteChat.ts"
import { EmbedInputs } from "./gateway/EmbedInputs.ts"
import { firstStartLayer } from "./gateway/FirstStart.ts"
import { TranscribeAudio } from "./gateway/TranscribeAudio.ts"
import { Deployment, startUpReportLayer } from "./http/Deployment.ts"
import { Drain } from "./http/edge/Drain.ts"
import { nodeServerLayer } from "./http/edge/NodeServer.ts"
import { serverLayer } from "./http/Server.ts"
import { RecordedAnswers } from "./idempotency/RecordedAnswers.ts"
import { CreditLedger } from "./ledger/CreditLedger.ts"
import { Payments } from "./ledger/Payments.ts"
import { requireFreeSocket } from "./network/FreeSocket.ts"
import { logFatal } from "./observability/ErrorDescription.ts"
import { type MakeScrape, Scrape } from "./observability/Scrape.ts"
import { telemetryLayer } from "./observability/Telemetry.ts"
import { Dispatch } from "./providers/dispatch/Dispatch.ts"
import { earlierReceiptsLayer } from "./receipts/EarlierReceipts.ts"
import { LoggedRequests } from "./receipts/LoggedRequests.ts"
import { logPartitionsLayer } from "./receipts/LogPartitions.ts"
import { priceListLayer } from "./receipts/PriceList.ts"
import { RequestLog } from "./receipts/RequestLog.ts"
import { usageDaysLayer } from "./receipts/UsageDays.ts"
import { UsageReports } from "./receipts/UsageReports.ts"
import { Router } from "./routing/Router.ts"
import { SessionPins } from "./routing/SessionPins.ts"
import { SandboxMode, servedCatalogLayer } from "./sandbox/ServedCatalog.ts"
import { Database } from "./sql/Database.ts"

/** The whole gateway on `socket`, which opens last, when everything below it is ready. */
export const gateway = <E, R>(options: Settings, socket: Layer.Layer<HttpServer.HttpServer, E, R>, announces = true) =>
  // The server. The drain is at the top because it has to begin before the server waits for its open requests.
  Drain.layerBeginOnClose(options)
    .pipe(
      Layer.provideMerge(announces ? startUpReportLayer(options.database) : Layer.empty),
      Layer.provideMerge(serverLayer(options, socket)),
      Layer.provide(Drain.layer),
      Layer.provide(deployment),
      Layer.provide(firstStartLayer(options.firstStart))
    )
    // Alerts, which watch all of what is below.
    .pipe(
      Layer.provideMerge(alertChecksLayer(options.alerts)),
      Layer.provideMerge(deliveriesLayer),
      Layer.provide(Deliveries.layer),
      Layer.provide(WebhookSender.layer(options.alerts)),
      Layer.provide(Alerts.layer(options.alerts)),
      Layer.provide(DeliveryLog.layer),
      Layer.provide(Webhooks.layer),
      Layer.provide(AlertSignal.layer)
    )
    // The use cases.
    .pipe(
      Layer.provide(CompleteChat.layer(options)),
      Layer.provide(TranscribeAudio.layer),
      Layer.provide(EmbedInputs.layer(options)),
      Layer.provide(AdjustCredit.layer),
      Layer.provide(ChooseTargets.layer),
      Layer.provide(ChooseTranscriptionTargets.layer(options))
    )
    // The capabilities that the use cases combine.
    .pipe(
      Layer.provide(Router.layer),
      Layer.provide(SessionPins.layer),
      Layer.provide(Dispatch.layer),
      Layer.provideMerge(CreditLedger.layer),
      Layer.provide(Payments.layer),
      Layer.provideMerge(ApiKeys.layer),
      Layer.provideMerge(AdminKeys.layer(options)),
      Layer.provide(Projects.layer),
      Layer.provide(Budgets.layer),
      Layer.provideMerge(Organizations.layer),
      Layer.provide(AuditTrail.layer),
      Layer.provide(RateLimits.layer(options)),
      Layer.provide(ConcurrencyLimits.layer)
    )
    // What is stored of requests, and what is counted from it.
    .pipe(
      Layer.provide(RequestLog.layer),
      Layer.provide(UsageReports.layer),
      Layer.provide(LoggedRequests.layer),
      Layer.provideMerge(earlierReceiptsLayer),
      Layer.provideMerge(logPartitionsLayer(options)),
      Layer.provideMerge(usageDaysLayer),
      Layer.provide(RecordedAnswers.layer),
      Layer.provide(priceListLayer)
    )
    // The database, the models and prices, and the platform. A fault in the catalog is found before a database is made.
    .pipe(
      Layer.provideMerge(Database.layer(options.database)),
      Layer.provide(servedCatalogLayer(options)),
      Layer.provide(SecureRandom.layerWebCrypto),
      Layer.provide(NodeHttpServer.layerHttpServices)
    )

/** What the HTTP handlers report of the database and the sandbox, neither of which they depend on. */
const deployment = Layer.effect(
  Deployment,
  Effect.gen(function* () {
    const { engine, ping } = yield* Database
    const { isOn } = yield* SandboxMode
    return { engine, pingDatabase: ping, sandbox: isOn }
  })
)

/** What is different in a process that is one of several of the same gateway. */
export interface Membership {
  /** Others listen on the port as well, so that it is not free. */
  readonly sharesPort: boolean
  /** Logs where the gateway listens. */
  readonly announces: boolean
  /** The annotations of every log line, which are attributes of the process in telemetry. */
  readonly labels: { readonly [name: string]: string | number }
  readonly scrape: MakeScrape | undefined
}

const aloneInGateway: Membership = { sharesPort: false, announces: true, labels: {}, scrape: undefined }

/** The gateway of this process, until it is interrupted. */
export const run = ({ announces, labels, scrape, sharesPort }: Membership = aloneInGateway) =>
  Effect.gen(function* () {
    const options = yield* Effect.tapCause(settings, logFatal)
    const running = gateway(options, nodeServerLayer(options), announces)
    return yield* (sharesPort ? Effect.void : requireFreeSocket(options)).pipe(
      Effect.andThen(
        Layer.launch(scrape === undefined ? running : Layer.provide(running, Layer.succeed(Scrape, scrape)))
      ),
      Effect.tapCause(logFatal),
      Effect.onInterrupt(() => Effect.annotateLogs(Effect.logInfo("Tollgate has stopped"), { exitCode: 0 })),
      Effect.provide(telemetryLayer({ ...options, labels }))
    )
  }).pipe(Effect.provide(ConfigProvider.layer(environment)))

/** Runs the gateway in this process until it is stopped. */
export const start = (membership?: Membership): void =>
  NodeRuntime.runMain(run(membership), {
    disableErrorReporting: true,
    // A gateway runs until it is stopped, so an interruption is its normal end and exits with 0.
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
  })

if (import.meta.main) start()
