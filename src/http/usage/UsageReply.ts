/** Reads the query of a usage report, and writes the report. Both routes for usage share it. */
import { Clock, DateTime, Effect, Option, Struct } from "effect"
import type { HttpServerRequest } from "effect/http"

import { InternalError, InvalidRequest } from "../../api/Errors.ts"
import { type AdminUsageBucket, UsageBucket, type UsageParameters } from "../../api/UsageAnswer.ts"
import { picodollars, toUsd } from "../../domain/Money.ts"
import { describeFault } from "../../observability/ErrorDescription.ts"
import {
  maxUsageRows,
  type UsageDimension,
  usageDimensions,
  type UsageReportError,
  UsageReports,
  type UsageRow
} from "../../receipts/UsageReports.ts"
import { type CsvColumns, csvReply, wantsCsv } from "../edge/CsvReply.ts"
import { millisOf, timeOf, timeOrNull } from "../edge/ListWire.ts"

type Parameters = typeof UsageParameters.Type & { readonly organization_id?: string | undefined }

const dayMillis = 86_400_000
/** The longest span by interval, in days. */
const maxDays = { hour: 31, day: 366, month: 3_660, none: 3_660 } as const

const invalid = (message: string) => Effect.fail(InvalidRequest.of(message))

/** `allowed`: what the caller may group by. */
const groupsOf = (text: string | undefined, allowed: ReadonlyArray<UsageDimension>) => {
  const names = text === undefined || text === "" ? [] : text.split(",").map((name) => name.trim())
  const groups = names.map((name) => allowed.find((known) => known === name))
  const known = groups.filter((name) => name !== undefined)
  return known.length === names.length && new Set(known).size === known.length
    ? Effect.succeed(known)
    : invalid(`group_by: must be different names out of ${allowed.join(", ")}, with commas between them`)
}

const spanOf = Effect.fnUntraced(function* (query: Parameters) {
  const fromMillis = millisOf(query.from)
  const toMillis = query.to === undefined ? yield* Clock.currentTimeMillis : millisOf(query.to)
  if (fromMillis >= toMillis) return yield* invalid("from: must be before to")
  const days = maxDays[query.interval ?? "none"]
  if (toMillis - fromMillis > days * dayMillis) {
    const unit = query.interval === undefined ? "without interval" : `with interval=${query.interval}`
    return yield* invalid(`from: must be at most ${days} days before to, ${unit}`)
  }
  return { fromMillis, toMillis }
})

const failure = ({ cause, reason }: UsageReportError): Effect.Effect<never, InvalidRequest | InternalError> =>
  reason === "TooLong"
    ? invalid(`group_by: makes more than ${maxUsageRows} rows; narrow the span or the filters`)
    : Effect.andThen(
        Effect.annotateLogs(Effect.logError("Usage could not be read"), { cause: describeFault(cause) }),
        Effect.fail(InternalError.of("The database did not answer; try again"))
      )

/** Answers with the usage of one organization, or of all where `organization` is absent. */
const makeReply = <B extends Bucket>(write: (row: UsageRow) => B, columns: CsvColumns<B>) =>
  Effect.map(UsageReports, ({ report }) =>
    Effect.fnUntraced(function* (
      query: Parameters,
      request: HttpServerRequest.HttpServerRequest,
      organization?: string
    ) {
      const timeZone = query.time_zone ?? "UTC"
      if (Option.isNone(DateTime.zoneMakeNamed(timeZone))) {
        return yield* invalid("time_zone: must be an IANA name such as Europe/Berlin")
      }
      const allowed = usageDimensions.filter((name) => organization === undefined || name !== "organization_id")
      const groupBy = yield* groupsOf(query.group_by, allowed)
      const span = yield* spanOf(query)
      const { interval } = query
      const filter = {
        ...Object.fromEntries(usageDimensions.map((name) => [name, query[name]])),
        ...(organization !== undefined && { organization_id: organization })
      }
      const rows = yield* report({ ...span, interval, timeZone, groupBy, filter }).pipe(Effect.catch(failure))
      const data = rows.map(write)
      if (wantsCsv(query, request))
        return csvReply("usage", { ...groupColumns(groupBy, interval !== undefined), ...columns }, data)
      return {
        object: "list" as const,
        data,
        from: timeOf(span.fromMillis),
        to: timeOf(span.toMillis)
      }
    })
  )

type Bucket = typeof UsageBucket.Type
type AdminBucket = typeof AdminUsageBucket.Type

/** All members that are not about which requests a row counts. */
const measures = Struct.keys(UsageBucket.fields).filter(
  (name): name is Exclude<keyof Bucket, "object" | "start" | "group"> => !["object", "start", "group"].includes(name)
)

/** Every sum, as a column of CSV. */
const sums: CsvColumns<Bucket> = Object.fromEntries(measures.map((name) => [name, (bucket: Bucket) => bucket[name]]))
const adminSums: CsvColumns<AdminBucket> = {
  ...sums,
  provider_cost_usd: (bucket) => bucket.provider_cost_usd,
  margin_usd: (bucket) => bucket.margin_usd
}

/** The columns of CSV for which requests a row counts: the interval, and what is grouped by. */
const groupColumns = (groupBy: ReadonlyArray<UsageDimension>, hasIntervals: boolean): CsvColumns<Bucket> => ({
  ...(hasIntervals && { start: ({ start }: Bucket) => (start === null ? null : DateTime.formatIso(start)) }),
  ...Object.fromEntries(groupBy.map((name) => [name, ({ group }: Bucket) => group[name] ?? null]))
})

const bucketOf = (row: UsageRow): typeof UsageBucket.Type => ({
  object: "usage",
  start: timeOrNull(row.startMillis),
  group: Object.fromEntries(Object.entries(row.group)),
  requests: row.requests,
  input_tokens: row.inputTokens,
  cache_read_tokens: row.cacheReadTokens,
  cache_write_tokens: row.cacheWriteTokens,
  audio_input_tokens: row.audioInputTokens,
  output_tokens: row.outputTokens,
  reasoning_tokens: row.reasoningTokens,
  audio_seconds: row.audioMillis / 1_000,
  cost_usd: toUsd(row.cost)
})

const adminBucketOf = (row: UsageRow): AdminBucket => ({
  ...bucketOf(row),
  provider_cost_usd: toUsd(row.providerCost),
  margin_usd: toUsd(picodollars(row.cost - row.providerCost))
})

/** For the holder of a key, who sees what is charged and not what the providers bill. */
export const makeUsageReply = makeReply(bucketOf, sums)

/** For operators. */
export const makeAdminUsageReply = makeReply(adminBucketOf, adminSums)
