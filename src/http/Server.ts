/**
 * All routes of the gateway over one listening server. The routes themselves are declared in `api/Api.ts`, and what
 * happens on each of them is in its handlers.
 */
import { ByteSize, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { AdminApi } from "../api/admin/AdminApi.ts"
import { HandledApi } from "../api/Api.ts"
import { accountHandlersLayer, type AccountOptions } from "./account/AccountHandlers.ts"
import { adminAuthorizationLayer, requestValidationLayer } from "./admin/AdminAuthorizationLayer.ts"
import { adminHandlersLayer } from "./admin/AdminHandlers.ts"
import { catalogHandlersLayer } from "./admin/CatalogHandlers.ts"
import type { WebhookOptions } from "./admin/WebhookHandlers.ts"
import * as TranscriptionHandlers from "./audio/TranscriptionHandlers.ts"
import { chatRouteLayer } from "./chat/ChatRoute.ts"
import type { CompletionOptions } from "./completion/CompletionHandler.ts"
import { Admission } from "./edge/Admission.ts"
import { authorizationLayer } from "./edge/Authorization.ts"
import * as Edge from "./edge/Edge.ts"
import { healthHandlersLayer } from "./edge/HealthHandlers.ts"
import { metricHandlersLayer, type MetricOptions } from "./edge/MetricHandlers.ts"
import { RequestBodies } from "./edge/RequestBodies.ts"
import { embeddingHandlersLayer } from "./embeddings/EmbeddingHandlers.ts"
import { generationHandlersLayer } from "./generation/GenerationHandlers.ts"
import { messagesHandlersLayer } from "./messages/MessagesHandlers.ts"
import { modelHandlersLayer } from "./models/ModelHandlers.ts"
import { referenceLayer } from "./reference/ReferenceRoutes.ts"
import { responsesRouteLayer } from "./responses/ResponsesRoute.ts"

export type ServerOptions = CompletionOptions &
  TranscriptionHandlers.TranscriptionOptions &
  AccountOptions &
  MetricOptions &
  WebhookOptions &
  Edge.EdgeOptions

const adminRoutesLayer = (options: WebhookOptions) =>
  HttpApiBuilder.layer(AdminApi).pipe(
    Layer.provide(adminHandlersLayer(options)),
    Layer.provide(adminAuthorizationLayer)
  )

/** Serves every route on `socket`, which opens once all routes are ready: every connection it accepts is answered. */
export const serverLayer = <E, R>(options: ServerOptions, socket: Layer.Layer<HttpServer.HttpServer, E, R>) => {
  const handlers = Layer.mergeAll(
    messagesHandlersLayer(options),
    TranscriptionHandlers.transcriptionHandlersLayer(options),
    embeddingHandlersLayer(options),
    modelHandlersLayer(options),
    generationHandlersLayer,
    accountHandlersLayer(options),
    healthHandlersLayer,
    metricHandlersLayer(options),
    catalogHandlersLayer.pipe(Layer.provide(adminAuthorizationLayer))
  ).pipe(Layer.provide(authorizationLayer), Layer.provide(requestValidationLayer))
  const publicRoutes = Layer.mergeAll(
    chatRouteLayer(options),
    responsesRouteLayer(options),
    HttpApiBuilder.layer(HandledApi).pipe(Layer.provide(handlers))
  ).pipe(Layer.provide(RequestBodies.layer), Layer.provide(Admission.layer))
  const routes = Layer.mergeAll(
    publicRoutes,
    adminRoutesLayer(options),
    referenceLayer(options.serviceName),
    Edge.edgeLayer(options)
  )
  // Read for every body that HttpApi decodes, so it is the same for all requests.
  const maxBodySize = Layer.succeed(HttpServerRequest.MaxBodySize, ByteSize.bytes(options.maxBodyBytes))
  return Layer.unwrap(
    Effect.map(HttpRouter.toHttpEffect(routes), (handler) =>
      HttpServer.serve(handler).pipe(Layer.provide(maxBodySize), Layer.provideMerge(socket))
    )
  )
}
