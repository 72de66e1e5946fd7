/**
 * What holds for every request, whichever route it takes: a request id, a limit on the body, a line in the access log,
 * a place in the metrics, and an error body for everything that no endpoint declares (unknown route, wrong method,
 * unreadable body, a defect of the gateway).
 */
import { Cause, Clock, Context, Effect, type Exit, type Fiber, References, Scope, type Types } from "effect"
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
import { makeRequestIds } from "./RequestIds.ts"
import { methodsOf, noSuchRoute, routeOf } from "./UnknownRoutes.ts"

/** The id of the current request. Outside a request, where nothing is billed, there is none. */
export const idOfRequestIn = (context: Context.Context<never>): RequestId =>
  Context.get(context, CurrentAccessRecord)?.request ?? noRequest

export const currentRequestId = Effect.contextWith((context: Context.Context<never>) =>
  Effect.succeed(idOfRequestIn(context))
)

const noRequest = requestId("00000000-0000-0000-0000-000000000000")

export interface EdgeOptions extends CrossOriginOptions {
  /** The limit on every body but an upload, which has limits of its own. */
  readonly maxBodyBytes: number
  /** Whether each request gets a line in the log. */
  readonly accessLog: boolean
}

/**
 * A middleware around all routes of the server. What it does before a route takes no more than a few operations of the
 * request's fiber: it works on the fiber itself, as the router does, and the request gives the fiber back as it was.
 */
export const edgeLayer = (options: EdgeOptions) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const nextId = yield* makeRequestIds
      const { sandbox } = yield* Deployment
      const { requests } = yield* Drain
      const clock = yield* Clock.Clock
      const write = makeLimitedLog()
      const count = yield* makeCountRequest(new Set<string>((yield* Catalog).known))
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

      /** The response as it is sent, which may be one that the platform made. */
      const complete = (
        access: AccessRecord,
        request: HttpServerRequest.HttpServerRequest,
        made: HttpServerResponse.HttpServerResponse
      ): HttpServerResponse.HttpServerResponse => {
        if (access.interrupted !== true) access.status = made.status
        const meant = access.interrupted === true ? answerOfShutdown(made) : made
        const shaped = expectsMessageErrors(request) ? asMessageResponse(meant, access.request) : meant
        const response = HttpServerResponse.setHeaders(shaped, {
          ...access.responseHeaders,
          "x-request-id": access.request,
          ...(sandbox && { "x-tollgate-sandbox": "true" })
        })
        return crossOrigin === undefined ? response : withCrossOrigin(response, crossOrigin.headersFor(request))
      }

      return <E, R>(httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) => {
        const answered = Effect.catchCause(httpEffect, (cause) => undeclaredError(cause, options, write))
        return Effect.withFiber((fiber: Fiber.Fiber<unknown, unknown>) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const scope = Context.getUnsafe(fiber.context, Scope.Scope)
          const startedAtMillis = clock.currentTimeMillisUnsafe()
          const id = nextId()
          const { method } = request
          const access: AccessRecord = { request: id, method, startedAtMillis, annotations: { request: id } }
          requests.open++
          HttpEffect.appendPreResponseHandlerUnsafe(fiber.context, (_request, response) =>
            Effect.succeed(complete(access, request, response))
          )
          fiber.setContext(aboutRequest(fiber.context, access))
          const preflight = crossOrigin?.preflight(request)
          const answer = preflight === undefined ? answered : Effect.succeed(preflight)
          // The first finalizer of the scope runs last, when the request has been settled.
          return Effect.andThen(
            Scope.addFinalizerExit(scope, (exit) => end(access, request, exit)),
            answer
          )
        })
      }
    }),
    { global: true }
  )

/** What handlers and their log lines know of the request from the start. */
const aboutRequest = (context: Context.Context<never>, access: AccessRecord): Context.Context<never> =>
  Context.add(Context.add(context, CurrentAccessRecord, access), References.CurrentLogAnnotations, access.annotations)

const pathOf = ({ url }: HttpServerRequest.HttpServerRequest): string => url.split("?", 1)[0] ?? ""

/**
 * The platform would answer a request that outlives the shutdown limit with an empty 503. A request whose client left
 * is interrupted as well, but with another status, and its answer is never read.
 */
const answerOfShutdown = (response: HttpServerResponse.HttpServerResponse) =>
  response.status === 503 ? errorResponse("internal_error", shutdownError.error.message) : response

const errorResponse = (code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.jsonUnsafe({ error: { code, message } }, { status: errorTable[code], headers })

const undeclaredError = <E>(
  cause: Cause.Cause<E>,
  options: EdgeOptions,
  write: LimitedLog
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    // A cause that holds nothing but interruptions holds no error.
    if (Cause.hasInterruptsOnly(cause)) {
      const access = yield* CurrentAccessRecord
      if (access !== undefined) access.interrupted = true
      return yield* Effect.failCause(cause as Cause.Cause<never>)
    }
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
