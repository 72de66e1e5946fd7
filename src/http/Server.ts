/**
 * All routes of the gateway over one listening server. The routes themselves are declared in `api/Api.ts`, and what
 * happens on each of them is in its handlers.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder, HttpApiScalar, OpenApi } from "effect/http-api"

import { Api, documentPaths } from "../api/Api.ts"
import { accountHandlersLayer, type AccountOptions } from "./account/AccountHandlers.ts"
import { adminAuthorizationLayer, requestValidationLayer } from "./admin/AdminAuthorizationLayer.ts"
import { creditHandlersLayer } from "./admin/CreditHandlers.ts"
import { keyHandlersLayer } from "./admin/KeyHandlers.ts"
import { operatorHandlersLayer } from "./admin/OperatorHandlers.ts"
import { tenantHandlersLayer } from "./admin/TenantHandlers.ts"
import * as TranscriptionHandlers from "./audio/TranscriptionHandlers.ts"
import * as ChatHandlers from "./chat/ChatHandlers.ts"
import { authorizationLayer } from "./edge/Authorization.ts"
import * as Edge from "./edge/Edge.ts"
import { healthHandlersLayer } from "./edge/HealthHandlers.ts"
import { RequestBodies } from "./edge/RequestBodies.ts"
import { generationHandlersLayer } from "./generation/GenerationHandlers.ts"
import { modelHandlersLayer } from "./models/ModelHandlers.ts"

export type ServerOptions = ChatHandlers.ChatOptions &
  TranscriptionHandlers.TranscriptionOptions &
  AccountOptions &
  Edge.EdgeOptions

/**
 * The document as it is published: with the operator's own name where the contract says `svc`, and without the rule
 * that objects have no further members, because requests may carry unknown members and answers may gain new ones.
 */
const published = (serviceName: string) => (document: Record<string, unknown>) =>
  // A document stays an object when it is written as JSON and read again.
  JSON.parse(
    JSON.stringify(document, (key, value: unknown) =>
      key === "additionalProperties" && value === false ? undefined : value
    )
      // RFC 7235 compares schemes without regard to case, but readers of such documents know only the lower case.
      .replaceAll('"scheme":"Bearer"', '"scheme":"bearer"')
      .replaceAll('"svc"', JSON.stringify(serviceName))
      .replaceAll("svc-auto", `${serviceName}-auto`)
  ) as Record<string, unknown>

/** The handlers of the operator's routes. */
export const adminHandlersLayer = Layer.mergeAll(
  tenantHandlersLayer,
  keyHandlersLayer,
  creditHandlersLayer,
  operatorHandlersLayer
).pipe(Layer.provide(adminAuthorizationLayer), Layer.provide(requestValidationLayer))

/** Serves every route on `socket`, which opens once all routes are ready: every connection it accepts is answered. */
export const serverLayer = <E, R>(options: ServerOptions, socket: Layer.Layer<HttpServer.HttpServer, E, R>) => {
  const api = Api.annotateMerge(OpenApi.annotations({ transform: published(options.serviceName) }))
  const handlers = Layer.mergeAll(
    ChatHandlers.chatHandlersLayer(options),
    TranscriptionHandlers.transcriptionHandlersLayer(options),
    modelHandlersLayer(options),
    generationHandlersLayer,
    accountHandlersLayer(options),
    healthHandlersLayer
  ).pipe(Layer.provide(RequestBodies.layer), Layer.provide(authorizationLayer), Layer.merge(adminHandlersLayer))
  const routes = Layer.mergeAll(
    HttpApiBuilder.layer(api, { openapiPath: documentPaths.openApi }).pipe(Layer.provide(handlers)),
    // The page must not load anything from another host.
    HttpApiScalar.layer(api, { path: documentPaths.reference, scalar: { withDefaultFonts: false } }),
    Edge.edgeLayer(options)
  )
  return Layer.unwrap(
    Effect.map(HttpRouter.toHttpEffect(routes), (handler) => HttpServer.serve(handler).pipe(Layer.provideMerge(socket)))
  )
}
