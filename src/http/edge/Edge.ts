/**
 * What holds for every response, whatever route made it: a request id, a bound on the body, and an error body for
 * everything no endpoint declared (unknown route, wrong method, unreadable body, a defect of our own).
 */
import { ByteSize, Cause, Effect, Layer, type Types } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"

import { Api } from "../../api/Api.ts"
import { type ErrorCode, errorTable } from "../../api/Errors.ts"
import { requestId } from "../../domain/Ids.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { shutdownError } from "./Drain.ts"

export interface EdgeOptions {
  readonly maxBodyBytes: number
  /** The built-in simulated provider answers: every response says so. */
  readonly sandbox: boolean
}

/** Applies to all routes of the server. */
export const edgeLayer = (options: EdgeOptions) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const maxBodySize = ByteSize.bytes(options.maxBodyBytes)
      return Effect.fnUntraced(function* <E, R>(
        httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
      ) {
        const id = requestId(yield* random.uuidV7())
        const response = yield* httpEffect.pipe(
          Effect.onInterrupt(() => whenCutOff),
          Effect.provideService(CurrentRequest, id),
          Effect.provideService(HttpServerRequest.MaxBodySize, maxBodySize),
          Effect.catchCause((cause) => undeclared(cause, options))
        )
        return HttpServerResponse.setHeaders(response, {
          "x-request-id": id,
          ...(options.sandbox && { "x-tollgate-sandbox": "true" })
        })
      })
    }),
    { global: true }
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))

/**
 * A request that outlives the shutdown limit is stopped, and the platform would answer it with an empty 503. (A client
 * that left is stopped as well; its status is another, and nobody reads its answer.)
 */
const whenCutOff = HttpEffect.appendPreResponseHandler((_request, response) =>
  Effect.succeed(response.status === 503 ? errorResponse("internal_error", shutdownError.error.message) : response)
)

const errorResponse = (code: ErrorCode, message: string, headers: Record<string, string> = {}) =>
  HttpServerResponse.jsonUnsafe({ error: { code, message } }, { status: errorTable[code], headers })

const undeclared = <E>(
  cause: Cause.Cause<E>,
  options: EdgeOptions
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
    const request = yield* HttpServerRequest.HttpServerRequest
    const reason = httpErrorIn(cause)?.reason
    if (reason?._tag === "RouteNotFound") return notFound(request)
    if (reason?._tag === "RequestParseError") {
      return reason.reason === "BodyTooLarge"
        ? errorResponse("request_too_large", `The request body must have at most ${options.maxBodyBytes} bytes`)
        : errorResponse("invalid_request", "The request body could not be read")
    }
    yield* Effect.logError("A request failed unexpectedly", cause)
    return errorResponse("internal_error", "Unexpected server error")
  })

const httpErrorIn = (cause: Cause.Cause<unknown>): HttpServerError.HttpServerError | undefined =>
  cause.reasons
    .flatMap((reason) => (reason._tag === "Fail" ? [reason.error] : reason._tag === "Die" ? [reason.defect] : []))
    .find(HttpServerError.isHttpServerError)

interface Known {
  readonly pattern: RegExp
  readonly method: string
}

const knownRoutes: ReadonlyArray<Known> = [
  ...Object.values(Api.groups).flatMap((group) =>
    Object.values(group.endpoints).map((endpoint) => ({
      pattern: new RegExp(`^${endpoint.path.replaceAll(/:[^/]+/g, "[^/]+")}$`),
      method: endpoint.method
    }))
  ),
  { pattern: /^\/(?:health\/(?:live|ready)|openapi\.json|docs)$/, method: "GET" }
]

const notFound = (request: HttpServerRequest.HttpServerRequest): HttpServerResponse.HttpServerResponse => {
  const path = request.url.split("?")[0] ?? ""
  const allowed = knownRoutes.filter((route) => route.pattern.test(path)).map((route) => route.method)
  // The method is right but the path cannot be read: nothing is there.
  return allowed.length === 0 || allowed.includes(request.method)
    ? errorResponse("not_found", "There is no such route; see /docs")
    : errorResponse("method_not_allowed", `Use ${allowed.join(" or ")} on this route`, { allow: allowed.join(", ") })
}
