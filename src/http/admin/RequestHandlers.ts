/** `/admin/v1/requests`: the log of requests, and the receipt of one of them. */
import { Clock, Duration, Effect, Option, Schema, Stream } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { AdminApi } from "../../api/admin/AdminApi.ts"
import { type RequestFilters, requestSpanDays } from "../../api/admin/RequestRoutes.ts"
import { InternalError, InvalidRequest, NotFound } from "../../api/Errors.ts"
import { RequestId } from "../../domain/Ids.ts"
import { fromUsd } from "../../domain/Money.ts"
import { describeFault } from "../../observability/ErrorDescription.ts"
import { LoggedRequests, type LoggedRequestQuery } from "../../receipts/LoggedRequests.ts"
import type { RequestLogError } from "../../receipts/RequestLog.ts"
import { requestIdIn } from "../chat/ChatAnswer.ts"
import { csvStream, wantsCsv } from "../edge/CsvReply.ts"
import { listBody, millisOf, pageRequestOf } from "../edge/ListWire.ts"
import { receiptBody, requestBody, requestColumns } from "./RequestWire.ts"

type Query = typeof RequestFilters.Type

const isRequestId = Schema.is(RequestId)
const dayMillis = Duration.toMillis("1 day")

/** The rows of one page of a stream of CSV. */
const csvPage = 1_000

export const requestHandlersLayer = HttpApiBuilder.group(AdminApi, "requests", (handlers) =>
  Effect.gen(function* () {
    const requests = yield* LoggedRequests
    return handlers
      .handle(
        "list",
        Effect.fnUntraced(function* ({ query, request }) {
          const asked = yield* askedFor(query)
          if (!wantsCsv(query, request)) {
            const page = yield* orRequestError(requests.list(asked, pageRequestOf(query)))
            return listBody(page, requestBody)
          }
          const all = query.limit === undefined
          const pages = Stream.paginate(query.cursor, (cursor) =>
            Effect.map(requests.list(asked, { limit: query.limit ?? csvPage, cursor }), ({ items, next }) => [
              [items],
              all ? Option.fromUndefinedOr(next) : Option.none()
            ])
          )
          return csvStream("requests", requestColumns, pages)
        })
      )
      .handle(
        "get",
        Effect.fnUntraced(function* ({ params }) {
          const id = requestIdIn(params.id)
          if (!isRequestId(id)) return yield* InvalidRequest.of("id: must be the id of a request or of an answer")
          const found = yield* orRequestError(requests.get(id))
          return Option.isSome(found) ? receiptBody(found.value) : yield* NotFound.of("There is no such request")
        })
      )
  })
)

const orRequestError = <A>(effect: Effect.Effect<A, RequestLogError>): Effect.Effect<A, InternalError> =>
  Effect.catch(effect, ({ cause, reason }) =>
    Effect.andThen(
      Effect.annotateLogs(Effect.logError("The request log could not be read"), { cause: describeFault(cause) }),
      Effect.fail(
        InternalError.of(
          reason === "Unreadable"
            ? "The receipt was stored by a version that this one does not understand"
            : "The database did not answer; try again"
        )
      )
    )
  )

const invalid = (message: string) => Effect.fail(InvalidRequest.of(message))

/** An open range is limited to the usual span. */
const askedFor = Effect.fnUntraced(function* (query: Query) {
  const toMillis = query.to && millisOf(query.to)
  const end = toMillis ?? (yield* Clock.currentTimeMillis)
  const fromMillis = query.from === undefined ? end - requestSpanDays.usual * dayMillis : millisOf(query.from)
  if (toMillis !== undefined && fromMillis >= toMillis) return yield* invalid("from: must be before to")
  if (end - fromMillis > requestSpanDays.longest * dayMillis) {
    return yield* invalid(`from: must be at most ${requestSpanDays.longest} days before to`)
  }
  const [minCost, maxCost] = [costOf(query.min_cost_usd), costOf(query.max_cost_usd)]
  if (minCost !== undefined && maxCost !== undefined && minCost > maxCost) {
    return yield* invalid("min_cost_usd: must not be more than max_cost_usd")
  }
  const { max_duration_ms: maxDurationMillis, min_duration_ms: minDurationMillis } = query
  if (minDurationMillis !== undefined && maxDurationMillis !== undefined && minDurationMillis > maxDurationMillis) {
    return yield* invalid("min_duration_ms: must not be more than max_duration_ms")
  }
  const filter = { ...filterOf(query), minCost, maxCost, minDurationMillis, maxDurationMillis }
  return { fromMillis, toMillis, filter } satisfies LoggedRequestQuery
})

const costOf = (text: string | undefined): bigint | undefined =>
  text === undefined ? undefined : Option.getOrUndefined(fromUsd(text))

const flagOf = (text: "true" | "false" | undefined): boolean | undefined => text && text === "true"

const filterOf = (query: Query): LoggedRequestQuery["filter"] => ({
  organization: query.organization_id,
  project: query.project_id,
  environment: query.environment_id,
  key: query.api_key_id,
  model: query.model,
  provider: query.provider,
  endpoint: query.endpoint,
  outcome: query.outcome,
  callName: query.call_name,
  endUserId: query.end_user_id,
  failedOver: flagOf(query.failed_over),
  pinned: flagOf(query.pinned),
  stream: flagOf(query.stream),
  routed: flagOf(query.routed)
})
