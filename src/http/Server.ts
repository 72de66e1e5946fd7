/**
 * All routes of the gateway over one listening server. Needs the use cases and the rooms they rest on; what happens on
 * which route is in the handlers.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder, HttpApiScalar, OpenApi } from "effect/http-api"

import { Api } from "../api/Api.ts"
import * as TranscriptionHandlers from "./audio/TranscriptionHandlers.ts"
import * as ChatHandlers from "./chat/ChatHandlers.ts"
import * as AuthorizationLayer from "./edge/Authorization.ts"
import * as Edge from "./edge/Edge.ts"
import * as Health from "./edge/HealthRoutes.ts"
import * as GenerationHandlers from "./generation/GenerationHandlers.ts"
import * as ModelHandlers from "./models/ModelHandlers.ts"

export type ServerOptions = ChatHandlers.ChatOptions &
  TranscriptionHandlers.TranscriptionOptions &
  Edge.EdgeOptions &
  Health.HealthOptions

/**
 * The document as it is published: with the operator's own name where the contract says `svc`, and without the rule
 * that objects have no further members, because unknown ones are ignored in requests and may be added to answers.
 */
const published = (serviceName: string) => (document: Record<string, unknown>) =>
  // JSON in, JSON of the same shape out.
  JSON.parse(
    JSON.stringify(document, (key, value: unknown) =>
      key === "additionalProperties" && value === false ? undefined : value
    )
      .replaceAll('"svc"', JSON.stringify(serviceName))
      .replaceAll("svc-auto", `${serviceName}-auto`)
  ) as Record<string, unknown>

/** The routes on a socket, which is opened when all of them are ready: whoever gets a connection gets an answer. */
export const serverLayer = <E, R>(options: ServerOptions, socket: Layer.Layer<HttpServer.HttpServer, E, R>) => {
  const api = Api.annotateMerge(OpenApi.annotations({ transform: published(options.serviceName) }))
  const handlers = Layer.mergeAll(
    ChatHandlers.chatHandlersLayer(options),
    TranscriptionHandlers.transcriptionHandlersLayer(options),
    ModelHandlers.modelHandlersLayer(options),
    GenerationHandlers.generationHandlersLayer
  ).pipe(Layer.provide(AuthorizationLayer.authorizationLayer))
  const routes = Layer.mergeAll(
    HttpApiBuilder.layer(api, { openapiPath: "/openapi.json" }).pipe(Layer.provide(handlers)),
    HttpApiScalar.layer(api, { path: "/docs" }),
    Health.healthRoutesLayer(options),
    Edge.edgeLayer(options)
  )
  return Layer.unwrap(
    Effect.map(HttpRouter.toHttpEffect(routes), (handler) => HttpServer.serve(handler).pipe(Layer.provideMerge(socket)))
  )
}
