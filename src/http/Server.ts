/**
 * All routes of the gateway over one listening server. The routes themselves are declared in `api/Api.ts`, and what
 * happens on each of them is in its handlers.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api } from "../api/Api.ts"
import { accountHandlersLayer, type AccountOptions } from "./account/AccountHandlers.ts"
import { adminAuthorizationLayer, requestValidationLayer } from "./admin/AdminAuthorizationLayer.ts"
import { catalogHandlersLayer } from "./admin/CatalogHandlers.ts"
import { creditHandlersLayer } from "./admin/CreditHandlers.ts"
import { keyHandlersLayer } from "./admin/KeyHandlers.ts"
import { operatorHandlersLayer } from "./admin/OperatorHandlers.ts"
import { tenantHandlersLayer } from "./admin/TenantHandlers.ts"
import * as TranscriptionHandlers from "./audio/TranscriptionHandlers.ts"
import * as ChatHandlers from "./chat/ChatHandlers.ts"
import { authorizationLayer } from "./edge/Authorization.ts"
import * as Edge from "./edge/Edge.ts"
import { healthHandlersLayer } from "./edge/HealthHandlers.ts"
import { metricHandlersLayer, type MetricOptions } from "./edge/MetricHandlers.ts"
import { RequestBodies } from "./edge/RequestBodies.ts"
import { generationHandlersLayer } from "./generation/GenerationHandlers.ts"
import { modelHandlersLayer } from "./models/ModelHandlers.ts"
import { referenceLayer } from "./reference/ReferenceRoutes.ts"

export type ServerOptions = ChatHandlers.ChatOptions &
  TranscriptionHandlers.TranscriptionOptions &
  AccountOptions &
  MetricOptions &
  Edge.EdgeOptions

/** The handlers of the operator's routes. */
export const adminHandlersLayer = Layer.mergeAll(
  tenantHandlersLayer,
  keyHandlersLayer,
  creditHandlersLayer,
  operatorHandlersLayer,
  catalogHandlersLayer
).pipe(Layer.provide(adminAuthorizationLayer), Layer.provide(requestValidationLayer))

/** Serves every route on `socket`, which opens once all routes are ready: every connection it accepts is answered. */
export const serverLayer = <E, R>(options: ServerOptions, socket: Layer.Layer<HttpServer.HttpServer, E, R>) => {
  const handlers = Layer.mergeAll(
    ChatHandlers.chatHandlersLayer(options),
    TranscriptionHandlers.transcriptionHandlersLayer(options),
    modelHandlersLayer(options),
    generationHandlersLayer,
    accountHandlersLayer(options),
    healthHandlersLayer,
    metricHandlersLayer(options)
  ).pipe(Layer.provide(RequestBodies.layer), Layer.provide(authorizationLayer), Layer.merge(adminHandlersLayer))
  const routes = Layer.mergeAll(
    HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers)),
    referenceLayer(options.serviceName),
    Edge.edgeLayer(options)
  )
  return Layer.unwrap(
    Effect.map(HttpRouter.toHttpEffect(routes), (handler) => HttpServer.serve(handler).pipe(Layer.provideMerge(socket)))
  )
}
