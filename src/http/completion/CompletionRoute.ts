/**
 * The route of an endpoint for completions, in the protocol of its clients. These endpoints get nearly all requests, so
 * they are routed past HttpApi, which is for a handler that gets everything decoded: it makes a new context of all
 * services for every request, decodes headers that accept any text, and wraps the handler in ten effects. That took 60
 * operations and an eighth of the time of a plain request. The endpoint itself is declared with all others.
 */
import { Context, Effect, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"

import { type ErrorCode, errorTable } from "../../api/ErrorTable.ts"
import { Admission } from "../edge/Admission.ts"
import { idOfRequestIn } from "../edge/Edge.ts"
import { addRetryAfter } from "../edge/ResponseHeaders.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import { completionHandler, type CompletionOptions } from "./CompletionHandler.ts"

/** Adds the route to the router. */
export const addCompletionRoute = Effect.fnUntraced(function* <Asked>(
  protocol: ClientProtocol<Asked>,
  path: HttpRouter.PathInput,
  options: CompletionOptions
) {
  const router = yield* HttpRouter.HttpRouter
  const { admit } = yield* Admission
  const complete = yield* completionHandler(protocol, options)
  const { endpoint } = protocol

  const answer = Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const id = idOfRequestIn(fiber.context)
    return Effect.flatMap(admit([credentialIn(request)], endpoint), (caller) => complete(request, caller, id))
  })
  yield* router.add("POST", path, Effect.catch(answer, refuse))
})

/** The credential of the scheme `Bearer`, or an empty one. */
const credentialIn = ({ headers }: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(/^bearer +(.+)$/is.exec(headers["authorization"] ?? "")?.[1] ?? "")

interface WireError {
  readonly error: { readonly code: ErrorCode; readonly message: string }
}

const refuse = (failure: WireError) => {
  const { code, message } = failure.error
  return Effect.as(
    addRetryAfter(failure),
    HttpServerResponse.jsonUnsafe({ error: { code, message } }, { status: errorTable[code] })
  )
}
