/**
 * Lets pages of other origins call the routes under `/v1`, and no others: the headers of CORS and the answers to
 * preflights. A browser shows a page nothing of a response without them, so every response has them, also errors and
 * streams. Keys go in a header that the page sets itself; cookies are not read here, so credentials are never allowed.
 */
import { type HttpServerRequest, HttpServerResponse } from "effect/http"

/** The origins whose pages may call, in the form in which browsers send them; `*` stands for every one. */
export type AllowedOrigins = "*" | ReadonlySet<string>

export interface CrossOriginOptions {
  /** `undefined` allows no page of another origin. */
  readonly corsOrigins: AllowedOrigins | undefined
  readonly serviceName: string
}

type ResponseHeaderRecord = { readonly [name: string]: string }

export interface CrossOrigin {
  /** The answer to a preflight; `undefined` for any other request, which its route answers. */
  readonly preflight: (
    request: HttpServerRequest.HttpServerRequest
  ) => HttpServerResponse.HttpServerResponse | undefined
  /** The headers that a response to this request needs. */
  readonly headersFor: (request: HttpServerRequest.HttpServerRequest) => ResponseHeaderRecord
}

const publicPath = /^\/+v1\//i

/** More than the routes have, so that a page can read the error of a route that knows another method. */
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE"

/** What the gateway and the libraries of OpenAI and Anthropic send. Others are allowed by being asked for. */
const requestHeaders = [
  "authorization",
  "content-type",
  "accept",
  "x-api-key",
  "anthropic-version",
  "anthropic-beta",
  "anthropic-dangerous-direct-browser-access",
  "openai-organization",
  "openai-project",
  "openai-beta",
  "idempotency-key",
  "x-session-id",
  "x-end-user-id"
]

const responseHeaders = [
  "x-request-id",
  "retry-after",
  "x-should-retry",
  ...["requests", "tokens"].flatMap((resource) =>
    ["limit", "remaining", "reset"].map((what) => `x-ratelimit-${what}-${resource}`)
  ),
  "idempotent-replayed",
  "idempotent-request-id",
  "x-tollgate-sandbox"
]

/** How long a browser may keep the answer to a preflight. Chromium keeps none for longer than two hours. */
const preflightSeconds = 7_200

/** `undefined` where no origin is allowed, so that requests are not even looked at. */
export const makeCrossOrigin = ({ corsOrigins, serviceName }: CrossOriginOptions): CrossOrigin | undefined => {
  if (corsOrigins === undefined) return undefined
  const exposed = [...responseHeaders, `x-${serviceName}-adjusted`].join(", ")
  const allowed = (origin: string | undefined): ResponseHeaderRecord => {
    if (corsOrigins === "*") return { "access-control-allow-origin": "*" }
    // A cache must not give one origin the answer that another one got, even if that had no such header.
    const vary = { vary: "origin" }
    return origin !== undefined && corsOrigins.has(origin) ? { ...vary, "access-control-allow-origin": origin } : vary
  }
  const headersFor: CrossOrigin["headersFor"] = ({ headers, url }) =>
    publicPath.test(url) ? { ...allowed(headers["origin"]), "access-control-expose-headers": exposed } : {}
  const preflight: CrossOrigin["preflight"] = (request) =>
    isPreflight(request) ? HttpServerResponse.empty({ status: 204, headers: preflightHeaders(request) }) : undefined
  return { preflight, headersFor }
}

const isPreflight = ({ headers, method, url }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "OPTIONS" &&
  publicPath.test(url) &&
  headers["origin"] !== undefined &&
  headers["access-control-request-method"] !== undefined

const preflightHeaders = ({ headers }: HttpServerRequest.HttpServerRequest): Record<string, string> => ({
  "access-control-allow-methods": methods,
  "access-control-allow-headers": [...new Set([...requestHeaders, ...askedFor(headers)])].join(", "),
  "access-control-max-age": String(preflightSeconds)
})

/** Libraries send headers about themselves, such as `x-stainless-os`, and the gateway ignores what it does not know. */
const askedFor = (headers: HttpServerRequest.HttpServerRequest["headers"]): ReadonlyArray<string> =>
  (headers["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name))

/** `response` with these headers, and what it varies by already. */
export const withCrossOrigin = (
  response: HttpServerResponse.HttpServerResponse,
  headers: ResponseHeaderRecord
): HttpServerResponse.HttpServerResponse => {
  const { vary } = response.headers
  const isKept = vary !== undefined && headers["vary"] !== undefined
  return HttpServerResponse.setHeaders(response, isKept ? { ...headers, vary: `${vary}, ${headers["vary"]}` } : headers)
}
