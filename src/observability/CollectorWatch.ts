/**
 * Tells the operator once when the OTLP collector does not take what it is sent, and once when it takes it again. The
 * exporters themselves drop what they cannot deliver, and try again after a minute.
 */
import { Effect, Layer } from "effect"
import { HttpClient, type HttpClientError, type HttpClientRequest } from "effect/http"

/** A collector that cannot be reached is one fault, although there are three kinds of telemetry. */
const unreachable = "all"

/** An HTTP client for the exporters, around another one. */
export const collectorWatchLayer = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) => {
    /** What is refused: paths, or `unreachable`. */
    const refused = new Set<string>()

    const failed = (key: string, url: string, cause: string) => {
      if (refused.has(key)) return Effect.void
      refused.add(key)
      return Effect.logWarning("The OTLP collector takes no telemetry; it is lost until it does").pipe(
        Effect.annotateLogs({ url, cause })
      )
    }

    const answered = (path: string, url: string) => {
      const wasRefused = [refused.delete(path), refused.delete(unreachable)].includes(true)
      return wasRefused
        ? Effect.annotateLogs(Effect.logInfo("The OTLP collector takes telemetry again"), { url })
        : Effect.void
    }

    return HttpClient.transform(client, (response, request) => {
      const { path, url } = addressOf(request)
      return response.pipe(
        Effect.tap(({ status }) =>
          status < 300 ? answered(path, url) : failed(path, url, `It answered with status ${status}`)
        ),
        Effect.tapError((error) => failed(unreachable, url, causeOf(error)))
      )
    })
  })
)

/** Without user name, password and query, which may be secrets. */
const addressOf = ({ url }: HttpClientRequest.HttpClientRequest) => {
  const { host, pathname, protocol } = URL.parse(url) ?? { host: "unknown", pathname: "/", protocol: "http:" }
  return { path: pathname, url: `${protocol}//${host}${pathname}` }
}

const causeOf = ({ reason }: HttpClientError.HttpClientError): string => codeIn(reason.cause) ?? reason._tag

/** Node nests the error that has a code. */
const codeIn = (cause: unknown): string | undefined => {
  if (!(cause instanceof Error)) return undefined
  if ("code" in cause && typeof cause.code === "string") return cause.code
  return codeIn(cause instanceof AggregateError ? cause.errors[0] : cause.cause)
}
