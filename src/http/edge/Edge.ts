/**
 * What holds for every request, whichever route it takes: a request id, a limit on the body, a line in the access log,
 * a place in the metrics, and an error body for everything that no endpoint declares (unknown route, wrong method,
 * unreadable body, a defect of the gateway).
 */
import { ByteSize, Cause, Clock, Context, Effect, type Exit, References, type Types } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"

import { type ErrorCode, errorTable } from "../../api/ErrorTable.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { type RequestId, requestId } from "../../domain/Ids.ts"
import { leftByClient } from "../../gateway/ClientLeft.ts"
import { type AccessRecord, CurrentAccessRecord, logAccess } from "../../observability/AccessLog.ts"
import { describeCause, failedRequest } from "../../observability/ErrorDescription.ts"
import { type LimitedLog, makeLimitedLog } from "../../observability/LimitedLog.ts"
import { makeCountRequest } from "../../observability/RequestMetrics.ts"
import { Deployment } from "../Deployment.ts"
import { asMessageResponse, expectsMessageErrors } from "../messages/MessageErrors.ts"
import { makeCrossOrigin, type CrossOriginOptions, withCrossOrigin } from "./CrossOrigin.ts"
import { Drain, shutdownError } from "./Drain.ts"
import { methodsOf, noSuchRoute, routeOf } from "./UnknownRoutes.ts"

/** The id of the current request. It is sent back as `x-request-id` and names the hold, the charge and the receipt. */
export const CurrentRequestId = Context.Reference<RequestId>("tollgate/http/edge/CurrentRequestId", {
  // Only code outside a request sees the default, and nothing is billed there.
  defaultValue: () => requestId("00000000-0000-0000-0000-000000000000")
})

export interface EdgeOptions extends CrossOriginOptions {
  /** The limit on every body but an upload, which has limits of its own. */
  readonly maxBodyBytes: number
  /** Whether each request gets a line in the log. */
  readonly accessLog: boolean
}

/** A middleware around all routes of the server. */
export const edgeLayer = (options: EdgeOptions) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const { sandbox } = yield* Deployment
      const { requests } = yield* Drain
      const clock = yield* Clock.Clock
      const write = makeLimitedLog()
      const count = yield* makeCountRequest(new Set<string>((yield* Catalog).known))
      const maxBodySize = ByteSize.bytes(options.maxBodyBytes)
      const crossOrigin = makeCrossOrigin(options)

      /** When the last byte of the answer has been sent, or the client has left. */
      const end = (
        access: AccessRecord,
        request: HttpServerRequest.HttpServerRequest,
        exit: Exit.Exit<unknown, unknown>
      ) => {
        requests.open--
        const nowMillis = clock.currentTimeMillisUnsafe()
        const ended = { route: routeOf(pathOf(request)), nowMillis, leftByClient: leftByClient(exit) }
        count(access, ended)
        return options.accessLog ? logAccess(access, ended) : Effect.void
      }

      return Effect.fnUntraced(function* <E, R>(routed: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) {
        const id = requestId(yield* random.uuidV7())
        const request = yield* HttpServerRequest.HttpServerRequest
        const startedAtMillis = clock.currentTimeMillisUnsafe()
        const access: AccessRecord = { request: id, method: request.method, startedAtMillis }
        requests.open++
        // The first finalizer of the scope runs last, when the request has been settled.
        yield* Effect.addFinalizer((exit) => end(access, request, exit))
        const corsHeaders = crossOrigin?.headersFor(request)
        const preflight = crossOrigin?.preflight(request)
        const isMessages = expectsMessageErrors(request)
        const httpEffect = preflight === undefined ? routed : Effect.succeed(preflight)
        const response = yield* httpEffect.pipe(
          Effect.onInterrupt(() => answerShutdown(corsHeaders, isMessages ? id : undefined)),
          Effect.catchCause((cause) => undeclaredError(cause, options, write)),
          Effect.provideContext(aboutRequest(access, maxBodySize))
        )
        access.status = response.status
        const identified = HttpServerResponse.setHeaders(isMessages ? asMessageResponse(response, id) : response, {
          "x-request-id": id,
          ...(sandbox && { "x-tollgate-sandbox": "true" })
        })
        return corsHeaders === undefined ? identified : withCrossOrigin(identified, corsHeaders)
      })
    }),
    { global: true }
  )

/** What handlers and their log lines know of the request from the start. */
const aboutRequest = (access: AccessRecord, maxBodySize: ByteSize.ByteSize) =>
  Context.make(CurrentRequestId, access.request).pipe(
    Context.add(CurrentAccessRecord, access),
    Context.add(HttpServerRequest.MaxBodySize, maxBodySize),
    Context.add(References.CurrentLogAnnotations, { request: access.request })
  )

const pathOf = ({ url }: HttpServerRequest.HttpServerRequest): string => url.split("?", 1)[0] ?? ""

/**
 * The platform would answer a request that outlives the shutdown limit with an empty 503. A request whose client left
 * is interrupted as well, but with another status, and its answer is never read.
 */
const answerShutdown = (headers: Readonly<Record<string, string>> | undefined, messages: RequestId | undefined) =>
  HttpEffect.appendPreResponseHandler((_request, response) => {
    if (response.status !== 503) return Effect.succeed(response)
    const error = errorResponse("internal_error", shutdownError.error.message, headers)
    return Effect.succeed(messages === undefined ? error : asMessageResponse(error, messages))
  })

const errorResponse = (code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.jsonUnsafe({ error: { code, message } }, { status: errorTable[code], headers })

const undeclaredError = <E>(
  cause: Cause.Cause<E>,
  options: EdgeOptions,
  write: LimitedLog
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    // A cause that holds nothing but interruptions holds no error.
    if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
    const request = yield* HttpServerRequest.HttpServerRequest
    const reason = httpErrorIn(cause)?.reason
    if (reason?._tag === "RouteNotFound") return unknownRoute(request)
    if (reason?._tag === "RequestParseError") {
      return reason.reason === "BodyTooLarge"
        ? errorResponse("request_too_large", `The request body must have at most ${options.maxBodyBytes} bytes`)
        : errorResponse("invalid_request", "The request body could not be read")
    }
    yield* write(failedRequest("A request failed unexpectedly", describeCause(cause)))
    return errorResponse("internal_error", "Unexpected server error")
  })

const httpErrorIn = (cause: Cause.Cause<unknown>): HttpServerError.HttpServerError | undefined =>
  cause.reasons
    .flatMap((reason) => (reason._tag === "Fail" ? [reason.error] : reason._tag === "Die" ? [reason.defect] : []))
    .find(HttpServerError.isHttpServerError)

/** 405 where the path is known with other methods, else 404. */
const unknownRoute = (request: HttpServerRequest.HttpServerRequest): HttpServerResponse.HttpServerResponse => {
  const path = pathOf(request)
  const allowed = methodsOf(path)
  // A known method without a route means that the path has a parameter which cannot be decoded.
  return allowed.length === 0 || allowed.includes(request.method)
    ? errorResponse("not_found", noSuchRoute(path))
    : errorResponse("method_not_allowed", `Use ${allowed.join(" or ")} on this route`, { allow: allowed.join(", ") })
}
