/**
 * What to say about a route that does not exist. Most clients that arrive here have a base URL with `/v1` missing or
 * doubled, or call an endpoint of another service, so the answer names the route to use in its place.
 */
import { documentPaths } from "../../api/Api.ts"
import { WholeApi } from "../../api/WholeApi.ts"

interface Route {
  readonly method: string
  /** May have parameters, such as `:id`. */
  readonly path: string
}

const routes: ReadonlyArray<Route> = [
  ...Object.values(WholeApi.groups).flatMap((group): ReadonlyArray<Route> => Object.values(group.endpoints)),
  ...Object.values(documentPaths).map((path) => ({ method: "GET", path }))
]

/** The router takes small and capital letters as the same, and several slashes, also at the end, as one. */
const patternOf = (path: string): RegExp => {
  const segments = path.split("/").map((one) => (one.startsWith(":") ? "[^/]+" : one.replaceAll(".", "\\.")))
  return new RegExp(`^${segments.join("/+")}/*$`, "i")
}

const patterns = routes.map((route) => ({ ...route, pattern: patternOf(route.path) }))

/** Longer paths are not looked at. */
const maxPathLength = 1_024

/** The methods of the routes with this path. */
export const methodsOf = (path: string): ReadonlyArray<string> =>
  patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)

/** The pattern of the route that serves this path, such as `/v1/models/:id`. */
export const routeOf = (path: string): string | undefined =>
  path.length > maxPathLength ? undefined : patterns.find(({ pattern }) => pattern.test(path))?.path

/** The error message for a path without a route. */
export const noSuchRoute = (path: string): string => {
  const hint = similarRoute(path) ?? elsewhere.find(({ pattern }) => pattern.test(path))?.hint
  return hint === undefined ? "There is no such route; see /docs" : `There is no such route. ${hint}; see /docs`
}

const aboutBaseUrls = "the base URL of OpenAI's clients ends in /v1"

/** The route whose path this one would have under another base URL. */
const similarRoute = (path: string): string | undefined => {
  if (path.length > maxPathLength) return undefined
  const tail = path
    .replaceAll(/\/{2,}/g, "/")
    .replace(/\/$/, "")
    .replace(/^.*\/v1(?=\/)/, "")
  const found = patterns.find(({ pattern }) => pattern.test(tail) || pattern.test(`/v1${tail}`))
  if (found === undefined) return undefined
  return `Use ${found.method} ${found.path.replaceAll(/:([^/]+)/g, "{$1}")}: ${aboutBaseUrls}`
}

const chat = "Use POST /v1/chat/completions"
const notOffered = (what: string) => `This gateway has no ${what}`

/** Endpoints of OpenAI, Anthropic, Google, Azure, Ollama and OpenRouter, and what stands in for them. */
const elsewhere: ReadonlyArray<{ readonly pattern: RegExp; readonly hint: string }> = [
  { pattern: /\/audio\/translations\/?$/, hint: "Use POST /v1/audio/transcriptions" },
  { pattern: /\/audio\/speech\/?$/, hint: notOffered("speech synthesis") },
  { pattern: /\/embeddings?\/?$|\/embed\/?$|:(?:embed|batchEmbed)Contents?$/, hint: "Use POST /v1/embeddings" },
  { pattern: /\/images(\/|$)/, hint: notOffered("image generation") },
  { pattern: /\/moderations\/?$/, hint: notOffered("moderation") },
  {
    pattern: /\/(?:files|uploads|batches|fine_tuning|vector_stores|assistants|threads|realtime|containers|evals)(\/|$)/,
    hint: "This gateway keeps no state of this kind; every request to POST /v1/chat/completions is complete in itself"
  },
  {
    pattern: /\/responses(\/|$)/,
    hint: "This gateway stores no responses; every request to POST /v1/responses has the whole conversation"
  },
  { pattern: /\/messages(\/|$)/, hint: "Use POST /v1/messages" },
  { pattern: /\/generation\/?$/, hint: "Use GET /v1/generations/{id}" },
  { pattern: /\/api\/tags\/?$/, hint: "Use GET /v1/models" },
  { pattern: /^\/health\/?$|^\/healthz?\/?$|^\/ping\/?$/, hint: "Use GET /health/live or GET /health/ready" },
  { pattern: /\/chat\/completions\/?$/, hint: `${chat}: ${aboutBaseUrls}` },
  {
    pattern: /\/(?:completions|complete|chat|generate)(\/|$)|:(?:stream)?generateContent$/i,
    hint: chat
  },
  { pattern: /^\/(?:v1\/?)?$/, hint: "The API is under /v1, such as POST /v1/chat/completions and GET /v1/models" }
]
