/**
 * What holds for every response, whichever route it comes from: a request id, a limit on the body, and an error body
 * for everything that no endpoint declares (unknown route, wrong method, unreadable body, a defect of the gateway).
 */
import { ByteSize, Cause, Context, Effect, type Types } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"

import { type ErrorCode, errorTable } from "../../api/ErrorTable.ts"
import { type RequestId, requestId } from "../../domain/Ids.ts"
import { Deployment } from "../Deployment.ts"
import { shutdownError } from "./Drain.ts"
import { methodsOf, noSuchRoute } from "./UnknownRoutes.ts"

/** The id of the current request. It is sent back as `x-request-id` and names the hold, the charge and the receipt. */
export const CurrentRequestId = Context.Reference<RequestId>("tollgate/http/edge/CurrentRequestId", {
  // Only code outside a request sees the default, and nothing is billed there.
  defaultValue: () => requestId("00000000-0000-0000-0000-000000000000")
})

export interface EdgeOptions {
  /** The limit on every body but an upload, which has limits of its own. */
  readonly maxBodyBytes: number
}

/** A middleware around all routes of the server. */
export const edgeLayer = (options: EdgeOptions) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const { sandbox } = yield* Deployment
      const maxBodySize = ByteSize.bytes(options.maxBodyBytes)
      return Effect.fnUntraced(function* <E, R>(
        httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
      ) {
        const id = requestId(yield* random.uuidV7())
        const response = yield* httpEffect.pipe(
          Effect.onInterrupt(() => answerShutdown),
          Effect.provideService(CurrentRequestId, id),
          Effect.provideService(HttpServerRequest.MaxBodySize, maxBodySize),
          Effect.catchCause((cause) => undeclaredError(cause, options))
        )
        return HttpServerResponse.setHeaders(response, {
          "x-request-id": id,
          ...(sandbox && { "x-tollgate-sandbox": "true" })
        })
      })
    }),
    { global: true }
  )

/**
 * The platform would answer a request that outlives the shutdown limit with an empty 503. A request whose client left
 * is interrupted as well, but with another status, and its answer is never read.
 */
const answerShutdown = HttpEffect.appendPreResponseHandler((_request, response) =>
  Effect.succeed(response.status === 503 ? errorResponse("internal_error", shutdownError.error.message) : response)
)

const errorResponse = (code: ErrorCode, message: string, headers: Record<string, string> = {}) =>
  HttpServerResponse.jsonUnsafe({ error: { code, message } }, { status: errorTable[code], headers })

const undeclaredError = <E>(
  cause: Cause.Cause<E>,
  options: EdgeOptions
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
    yield* Effect.logError("A request failed unexpectedly", cause)
    return errorResponse("internal_error", "Unexpected server error")
  })

const httpErrorIn = (cause: Cause.Cause<unknown>): HttpServerError.HttpServerError | undefined =>
  cause.reasons
    .flatMap((reason) => (reason._tag === "Fail" ? [reason.error] : reason._tag === "Die" ? [reason.defect] : []))
    .find(HttpServerError.isHttpServerError)

/** 405 where the path is known with other methods, else 404. */
const unknownRoute = (request: HttpServerRequest.HttpServerRequest): HttpServerResponse.HttpServerResponse => {
  const path = request.url.split("?")[0] ?? ""
  const allowed = methodsOf(path)
  // A known method without a route means that the path has a parameter which cannot be decoded.
  return allowed.length === 0 || allowed.includes(request.method)
    ? errorResponse("not_found", noSuchRoute(path))
    : errorResponse("method_not_allowed", `Use ${allowed.join(" or ")} on this route`, { allow: allowed.join(", ") })
}
