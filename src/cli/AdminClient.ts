/**
 * The client with which the commands of operators reach the gateway: over HTTP, or straight on the database if no
 * gateway runs. Which of them it is makes no difference to a command: both answer as `AdminApi` says.
 *
 * The rule: a gateway that was named is asked over HTTP or not at all. Only where none was named, and nothing listens
 * where one would, is the database opened.
 */
import { Console, Context, Data, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { HttpApi, HttpApiClient, type HttpApiGroup } from "effect/http-api"

import { AdminApi } from "../api/admin/AdminApi.ts"
import { CatalogRoutes } from "../api/admin/CatalogRoutes.ts"
import { Liveness } from "../api/Health.ts"
import { gatewayUrl, type Settings, settings } from "../Config.ts"
import { adminHandlersFetch } from "./AdminHandlersFetch.ts"

export class AdminClient extends Context.Service<AdminClient, HttpApiClient.ForApi<typeof AdminApi>>()(
  "tollgate/cli/AdminClient"
) {}

/** The routes that only a running gateway can answer. */
const RunningApi = HttpApi.make("running").add(CatalogRoutes)

export class RunningGateway extends Context.Service<RunningGateway, HttpApiClient.ForApi<typeof RunningApi>>()(
  "tollgate/cli/RunningGateway"
) {}

/** The gateway cannot be asked. `message` says what to do. */
export class NoGateway extends Data.TaggedError("NoGateway")<{ readonly message: string; readonly cause?: unknown }> {}

/** Until a command gives up on an answer. A change may have been made nevertheless. */
const answerTimeout = "60 seconds"

/** `given` comes before `TOLLGATE_URL`, and that before the address at which a gateway of this environment listens. */
export const adminClientLayer = (given: Option.Option<string>) =>
  Layer.effect(
    AdminClient,
    Effect.gen(function* () {
      const options = yield* settings
      const named = Option.isSome(given) ? given : yield* gatewayUrl
      if (Option.isSome(named)) return yield* overHttpWith(AdminApi, named.value, options)
      const url = ownUrl(options)
      if (yield* isListening(url)) return yield* overHttpWith(AdminApi, url, options)
      yield* Console.error(`No gateway listens on ${url}: working on its database`)
      return yield* onDatabase
    })
  )

/** The same for routes that no database can answer. */
export const runningGatewayLayer = (given: Option.Option<string>) =>
  Layer.effect(
    RunningGateway,
    Effect.gen(function* () {
      const options = yield* settings
      const named = Option.isSome(given) ? given : yield* gatewayUrl
      const url = Option.getOrElse(named, () => ownUrl(options))
      if (Option.isNone(named) && !(yield* isListening(url))) {
        return yield* new NoGateway({
          message: `This is for a running gateway, and none listens on ${url}: name one with --url or TOLLGATE_URL`
        })
      }
      return yield* overHttpWith(RunningApi, url, options)
    })
  )

/** The address at which a gateway that listens on every interface is reached from its own machine. */
const ownUrl = ({ host, port }: Pick<Settings, "host" | "port">): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/** False if the connection is refused. Fails if what listens is no gateway: the admin key is not for it. */
const isListening = (url: string): Effect.Effect<boolean, NoGateway> =>
  HttpClient.get(`${url}/health/live`).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(HttpClientResponse.schemaBodyJson(Liveness)),
    Effect.as(true),
    Effect.timeout(answerTimeout),
    Effect.catch((cause) =>
      isRefusedConnection(cause)
        ? Effect.succeed(false)
        : Effect.fail(
            new NoGateway({
              message: `What listens on ${url} is not a gateway that is ready; name one with --url or TOLLGATE_URL`,
              cause
            })
          )
    ),
    Effect.provide(FetchHttpClient.layer)
  )

const isRefusedConnection = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && error.code === "ECONNREFUSED"
    ? true
    : Predicate.hasProperty(error, "cause") && isRefusedConnection(error.cause)

const makeClient = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  url: string,
  transformClient: (client: HttpClient.HttpClient) => HttpClient.HttpClient
) =>
  HttpApiClient.make(api, {
    baseUrl: url,
    transformClient,
    // What the schema of a request refuses is the fault of the operator; an answer that does not fit is not.
    transformResponse: Effect.catchIf(Schema.isSchemaError, (cause) =>
      Effect.fail(new NoGateway({ message: `What ${url} answers is not what this version knows`, cause }))
    )
  })

const overHttpWith = Effect.fnUntraced(function* <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  url: string,
  { environmentKey }: Pick<Settings, "environmentKey">
) {
  if (Option.isNone(environmentKey)) {
    return yield* new NoGateway({ message: `Set ADMIN_API_KEY to an admin key of the gateway at ${url}` })
  }
  const key = Redacted.value(environmentKey.value)
  return yield* makeClient(api, url.replace(/\/+$/, ""), (client) =>
    client.pipe(
      HttpClient.mapRequest(HttpClientRequest.bearerToken(key)),
      HttpClient.transform((answer, request) =>
        Effect.timeoutOrElse(answer, { duration: answerTimeout, orElse: () => Effect.fail(unanswered(request)) })
      )
    )
  )
}, Effect.provide(FetchHttpClient.layer))

const unanswered = (request: HttpClientRequest.HttpClientRequest) =>
  new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({
      request,
      cause: new NoGateway({ message: `no answer within ${answerTimeout}, so look whether the change was made` })
    })
  })

const onDatabase = Effect.gen(function* () {
  const answering = Layer.succeed(FetchHttpClient.Fetch, yield* adminHandlersFetch)
  return yield* Effect.provide(
    makeClient(AdminApi, "http://database", (client) => client),
    Layer.provide(FetchHttpClient.layer, answering)
  )
}).pipe(
  Effect.catchTag("NoDatabase", ({ message }) =>
    Effect.fail(new NoGateway({ message: `${message}. Or name a running gateway with --url or TOLLGATE_URL` }))
  )
)
