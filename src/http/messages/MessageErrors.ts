/**
 * Errors in the shape of Anthropic's API. Whatever refuses a request on these routes does so with an error of the
 * closed table, which is put into this shape at the very end. Our own code stays beside Anthropic's type, because it
 * says more.
 */
import { HttpBody, type HttpServerRequest, HttpServerResponse } from "effect/http"

import { type ErrorCode, errorTable } from "../../api/ErrorTable.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { threadRefusal } from "./RefusedMembers.ts"

type MessageErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "billing_error"
  | "permission_error"
  | "not_found_error"
  | "conflict_error"
  | "request_too_large"
  | "rate_limit_error"
  | "timeout_error"
  | "api_error"
  | "overloaded_error"

const typeOfStatus: { readonly [status: number]: MessageErrorType } = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  529: "overloaded_error"
}

/** Anthropic's name for errors with this HTTP status. */
export const messageErrorType = (status: number): MessageErrorType =>
  typeOfStatus[status] ?? (status >= 500 ? "api_error" : "invalid_request_error")

interface CodedError {
  readonly code: ErrorCode
  readonly message: string
}

/** The body of an error, alone or as an event of a stream. */
export const messageErrorBody = ({ code, message }: CodedError, id: RequestId) => ({
  type: "error" as const,
  error: {
    type: messageErrorType(errorTable[code]),
    message,
    code,
    ...(message === threadRefusal && { details: { error_code: "thread_unsupported_request", unsupported: [] } })
  },
  request_id: id
})

/** True on the routes of Anthropic's API. A list of models is one of them where the client says so. */
export const expectsMessageErrors = ({ headers, url }: HttpServerRequest.HttpServerRequest): boolean =>
  /^\/+v1\/+messages(?:[/?]|$)/i.test(url) ||
  (headers["anthropic-version"] !== undefined && /^\/+v1\/+models(?:[/?]|$)/i.test(url))

/** The same response with its error, if it is one, in this shape, and with the header by which SDKs name a request. */
export const asMessageResponse = (
  response: HttpServerResponse.HttpServerResponse,
  id: RequestId
): HttpServerResponse.HttpServerResponse => {
  const error = response.status < 400 ? undefined : errorIn(response)
  const shaped =
    error === undefined
      ? response
      : HttpServerResponse.setBody(response, HttpBody.jsonUnsafe(messageErrorBody(error, id)))
  return HttpServerResponse.setHeader(shaped, "request-id", id)
}

const utf8 = new TextDecoder()

const errorIn = ({ body }: HttpServerResponse.HttpServerResponse): CodedError | undefined => {
  if (body._tag !== "Uint8Array") return undefined
  // Every error is encoded by this gateway.
  return (JSON.parse(utf8.decode(body.body)) as { readonly error?: CodedError }).error
}
