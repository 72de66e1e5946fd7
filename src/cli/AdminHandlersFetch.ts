/**
 * The handlers of the operator's routes in this process, on the database of the gateway that the environment describes.
 * Whoever can open the database needs no key. Changes are recorded under the name `command line`.
 *
 * The rule: nothing of a gateway is started for it. It takes no lease, sweeps no holds and migrates nothing.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Option, type Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpEffect, HttpRouter, type HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { AdminKeys } from "../access/AdminKeys.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { AuditTrail, CurrentActor } from "../access/AuditTrail.ts"
import { Budgets } from "../access/Budgets.ts"
import { Organizations } from "../access/Organizations.ts"
import { Projects } from "../access/Projects.ts"
import { Alerts } from "../alerts/Alerts.ts"
import { AlertSignal } from "../alerts/AlertSignal.ts"
import { DeliveryLog } from "../alerts/DeliveryLog.ts"
import { Webhooks } from "../alerts/Webhooks.ts"
import { AdminApi } from "../api/admin/AdminApi.ts"
import { AdminAuthorization, CurrentAdmin } from "../api/admin/AdminRoutes.ts"
import { settings } from "../Config.ts"
import { AdjustCredit } from "../gateway/AdjustCredit.ts"
import { adminHandlersLayer } from "../http/admin/AdminHandlers.ts"
import { Payments } from "../ledger/Payments.ts"
import { LoggedRequests } from "../receipts/LoggedRequests.ts"
import { UsageReports } from "../receipts/UsageReports.ts"
import * as Connection from "./Connection.ts"
import { routeCatalogLayer } from "./RouteCatalog.ts"

const operator = { name: "command line" }

const commandLineLayer = Layer.succeed(
  AdminAuthorization,
  AdminAuthorization.of({
    admin: (httpEffect) =>
      httpEffect.pipe(Effect.provideService(CurrentAdmin, operator), Effect.provideService(CurrentActor, operator))
  })
)

const routes = Layer.unwrap(
  Effect.map(settings, (options) =>
    HttpApiBuilder.layer(AdminApi)
      .pipe(Layer.provide(adminHandlersLayer(options)), Layer.provide(commandLineLayer))
      .pipe(
        Layer.provide(AdjustCredit.layer),
        Layer.provide(Alerts.layer(options.alerts)),
        Layer.provide(DeliveryLog.layer),
        Layer.provide(Webhooks.layer),
        Layer.provide(AlertSignal.layer),
        Layer.provide(Payments.layer),
        Layer.provide(UsageReports.layer),
        Layer.provide(LoggedRequests.layer),
        Layer.provide(ApiKeys.layer),
        Layer.provide(AdminKeys.layer(options)),
        Layer.provide(Projects.layer),
        Layer.provide(Budgets.layer),
        Layer.provide(Organizations.layer),
        Layer.provide(AuditTrail.layer)
      )
  )
).pipe(
  Layer.provide(Connection.connectionLayer),
  Layer.provide(routeCatalogLayer({ catalog: Option.none(), everyModel: false })),
  Layer.provide(SecureRandom.layerWebCrypto),
  Layer.provide(NodeHttpServer.layerHttpServices)
)

/** A `fetch` that those handlers answer, for as long as the scope is open. */
export const adminHandlersFetch = Effect.gen(function* () {
  const handler = yield* HttpRouter.toHttpEffect(routes)
  const context = yield* Effect.context<never>()
  const respond = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(context)(
    handler
  )
  const answer: typeof fetch = (input, init) => respond(new Request(input, init))
  return answer
})
