/**
 * The requests of the log for operators: lists that are narrowed by the columns of the log, and whole receipts.
 *
 * The rule: a page looks at no more than a fixed number of rows, however rare what it searches is. A page that ends
 * because of that names a cursor at which the search goes on, and may be empty. One condition, which an index answers,
 * decides which rows are looked at; the others are checked on those rows.
 */
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient, type Statement } from "effect/sql"

import { organizationId, type RequestId } from "../domain/Ids.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { type LoggedRequest, type LoggedRequestRow, loggedColumns, loggedRequestOf } from "./LoggedRequest.ts"
import type { Receipt } from "./Receipt.ts"
import { makeFindStored, RequestLogError } from "./RequestLog.ts"

/** What a list can be narrowed to; ranges include their ends. */
export interface LoggedRequestFilter {
  readonly organization?: string | undefined
  readonly project?: string | undefined
  readonly environment?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly endpoint?: string | undefined
  readonly outcome?: string | undefined
  readonly callName?: string | undefined
  readonly endUserId?: string | undefined
  /** More than one endpoint was tried or skipped. */
  readonly failedOver?: boolean | undefined
  readonly pinned?: boolean | undefined
  readonly stream?: boolean | undefined
  readonly routed?: boolean | undefined
  readonly minCost?: bigint | undefined
  readonly maxCost?: bigint | undefined
  readonly minDurationMillis?: number | undefined
  readonly maxDurationMillis?: number | undefined
}

export interface LoggedRequestQuery {
  /** In milliseconds since 1970. */
  readonly fromMillis: number
  /** Exclusive; without it, up to the latest. */
  readonly toMillis?: number | undefined
  readonly filter: LoggedRequestFilter
}

/** How many rows one page looks at. */
const scannedRows = 50_000

type FoundRow = LoggedRequestRow & {
  /** Where the search goes on if the page is not full. */
  readonly goes_on: string | null
}

export class LoggedRequests extends Context.Service<
  LoggedRequests,
  {
    /** The latest first. The cursor of a page is the id of a request. */
    readonly list: (query: LoggedRequestQuery, page: PageRequest) => Effect.Effect<Page<LoggedRequest>, RequestLogError>
    /** The receipt of a request of any organization, as stored, in accord with its charge. */
    readonly get: (id: RequestId) => Effect.Effect<Option.Option<Receipt>, RequestLogError>
  }
>()("tollgate/receipts/LoggedRequests") {
  static readonly layerScanning = (rows: number) =>
    Layer.effect(
      LoggedRequests,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const findStored = yield* makeFindStored

        const list = Effect.fn("LoggedRequests.list")(function* (query: LoggedRequestQuery, page: PageRequest) {
          const found = yield* orUnavailable(pageStatement(sql, query, page, rows))
          const items = found.flatMap(loggedRequestOf)
          const paged = pageOf(page, items, ({ id }) => id)
          const goesOn = found[0]?.goes_on ?? undefined
          return paged.next === undefined && goesOn !== undefined ? { ...paged, next: goesOn } : paged
        })

        const get = Effect.fn("LoggedRequests.get")(function* (id: RequestId) {
          const [row] = yield* orUnavailable(sql<{ readonly organization_id: string }>`
            SELECT organization_id FROM logged_request WHERE at = request_time(${id}::uuid) AND id = ${id}::uuid
            UNION ALL SELECT organization_id FROM request_log WHERE id = ${id}::uuid
            UNION ALL SELECT organization_id FROM credit_entry WHERE id = ${id}::uuid AND kind = 'charge'
            LIMIT 1`)
          return row === undefined ? Option.none() : yield* findStored(organizationId(row.organization_id), id)
        })

        return LoggedRequests.of({ list, get })
      })
    )

  static readonly layer = LoggedRequests.layerScanning(scannedRows)
}

const orUnavailable = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, RequestLogError> =>
  Effect.mapError(effect, (cause) => new RequestLogError({ reason: "Unavailable", cause }))

/** A subquery with a limit keeps conditions outside of it, so the planner cannot choose to look at more rows. */
export const pageStatement = (
  sql: SqlClient.SqlClient,
  { filter, fromMillis, toMillis }: LoggedRequestQuery,
  { cursor, limit }: PageRequest,
  scanned: number
) => {
  const [leading, others] = conditionsOf(sql, filter)
  const looked = sql.and([
    sql`at >= ${timestamp(fromMillis)}`,
    ...(toMillis === undefined ? [] : [sql`at < ${timestamp(toMillis)}`]),
    ...(cursor === undefined ? [] : [sql`(at, id) < (request_time(${cursor}::uuid), ${cursor}::uuid)`]),
    ...leading
  ])
  return sql<FoundRow>`
    WITH page AS MATERIALIZED (
      SELECT * FROM (
        SELECT ${sql.literal(loggedColumns)} FROM logged_request WHERE ${looked}
        ORDER BY at DESC, id DESC LIMIT ${scanned}
      ) AS scanned
      WHERE ${sql.and([sql.literal("true"), ...others])}
      ORDER BY at DESC, id DESC LIMIT ${limit + 1}
    )
    SELECT page.*, CASE WHEN (SELECT count(*) FROM page) <= ${limit} THEN (
      SELECT id FROM logged_request WHERE ${looked} ORDER BY at DESC, id DESC OFFSET ${scanned - 1} LIMIT 1
    ) END AS goes_on
    FROM (SELECT 1) AS one LEFT JOIN page ON true
    ORDER BY at DESC, id DESC`
}

type Conditions = ReadonlyArray<Statement.Fragment>

/**
 * The condition that an index answers, if there is one, and the others. Where several could lead, the one that is
 * likely to leave the fewest rows does.
 */
const conditionsOf = (
  sql: SqlClient.SqlClient,
  filter: LoggedRequestFilter
): readonly [leading: Conditions, others: Conditions] => {
  const of = <A>(value: A | undefined, write: (value: A) => Statement.Fragment): Conditions =>
    value === undefined ? [] : [write(value)]
  const uuid = (name: string) => (value: string) => sql`${sql(name)} = ${value}::uuid`
  const text = (name: string) => (value: string) => sql`${sql(name)} = ${value}`
  const flag = (name: string) => (value: boolean) => sql`${sql(name)} = ${value}`
  const isFailure = filter.outcome !== undefined && filter.outcome !== "completed"
  const leaders = [
    of(filter.endUserId, text("end_user_id")),
    of(filter.callName, text("call_name")),
    of(filter.key, uuid("api_key_id")),
    // Repeats the conditions of the partial indexes, which the planner has to recognize.
    of(isFailure ? filter.outcome : undefined, (value) => sql`outcome <> 'completed' AND outcome = ${value}`),
    of(filter.failedOver === true ? true : undefined, () => sql`attempts > 1`),
    of(filter.organization, uuid("organization_id"))
  ].filter(({ length }) => length > 0)
  const [leading = [], ...others] = leaders
  return [
    leading,
    [
      ...others.flat(),
      ...of(filter.project, uuid("project_id")),
      ...of(filter.environment, uuid("environment_id")),
      ...of(isFailure ? undefined : filter.outcome, text("outcome")),
      ...of(filter.model, text("model")),
      ...of(filter.endpoint, text("endpoint")),
      ...of(filter.provider, (value) => sql`split_part(endpoint, '/', 1) = ${value}`),
      ...of(filter.failedOver === false ? true : undefined, () => sql`attempts <= 1`),
      ...of(filter.pinned, flag("pinned")),
      ...of(filter.stream, flag("stream")),
      ...of(filter.routed, flag("routed")),
      ...of(filter.minCost, (value) => sql`cost >= ${String(value)}::bigint`),
      ...of(filter.maxCost, (value) => sql`cost <= ${String(value)}::bigint`),
      ...of(filter.minDurationMillis, (value) => sql`duration_millis >= ${value}::float8`),
      ...of(filter.maxDurationMillis, (value) => sql`duration_millis <= ${value}::float8`)
    ]
  ]
}
