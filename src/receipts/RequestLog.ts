/**
 * The log of requests: one receipt each. It explains charges and is not what charges rest on, so writing it never
 * holds up or fails a request: receipts wait in a bounded queue, and those that find it full are counted and lost.
 */
import { type Cause, Context, Data, Duration, Effect, Fiber, Layer, Metric, Option, Queue, Schedule } from "effect"
import { SqlClient } from "effect/sql"

import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import { isTransient } from "../sql/SqlState.ts"
import type { Receipt } from "./Receipt.ts"
import { decodeReceipt, encodeReceipt } from "./StoredReceipt.ts"

const queueCapacity = 10_000
const batchLimit = 500
const retryDelay = Duration.millis(100)
const retryDelayLimit = Duration.seconds(10)
/** How long closing waits for the receipts that are still queued. */
const flushTimeout = Duration.seconds(5)

const lost = Metric.counter("request_log_lost_total", {
  description: "Receipts that were not stored: the queue was full, or the database refused them.",
  incremental: true
})

export class RequestLogError extends Data.TaggedError("RequestLogError")<{
  /** `Unreadable`: stored by a version that this one does not understand. */
  readonly reason: "Unavailable" | "Unreadable"
  readonly cause: unknown
}> {}

export class RequestLog extends Context.Service<
  RequestLog,
  {
    /** Queues a receipt to be stored, normally within milliseconds. */
    readonly record: (receipt: Receipt) => Effect.Effect<void>
    /** The receipt of one request of this organization. */
    readonly find: (
      organization: OrganizationId,
      id: RequestId
    ) => Effect.Effect<Option.Option<Receipt>, RequestLogError>
  }
>()("tollgate/receipts/RequestLog") {
  static readonly layerSql = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const record = yield* makeRecord(sql)

      const find = Effect.fn("RequestLog.find")(function* (organization: OrganizationId, id: RequestId) {
        const rows = yield* sql<{ readonly receipt: unknown }>`
          SELECT receipt FROM request_log WHERE id = ${id} AND organization_id = ${organization}`.pipe(
          Effect.mapError((cause) => new RequestLogError({ reason: "Unavailable", cause }))
        )
        if (rows[0] === undefined) return Option.none()
        return yield* decodeReceipt(rows[0].receipt).pipe(
          Effect.mapBoth({
            onFailure: (cause) => new RequestLogError({ reason: "Unreadable", cause }),
            onSuccess: Option.some
          })
        )
      })

      return RequestLog.of({ record, find })
    })
  )
}

/** The queue with the one worker that empties it, in batches that form while the one before is being written. */
const makeRecord = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const queue = yield* Queue.dropping<Receipt, Cause.Done>(queueCapacity)
  const worker = Queue.takeBetween(queue, 1, batchLimit).pipe(
    Effect.flatMap((batch) => store(sql, batch)),
    Effect.forever,
    // The queue ends when the scope closes, once all it held has been taken.
    Effect.catch(() => Effect.void),
    Effect.interruptible
  )
  yield* Effect.acquireRelease(Effect.forkDetach(worker), (fiber) =>
    Queue.end(queue).pipe(
      Effect.andThen(Fiber.await(fiber)),
      Effect.timeoutOrElse({ duration: flushTimeout, orElse: () => reportLost("Closed before all was stored") }),
      Effect.andThen(Fiber.interrupt(fiber))
    )
  )
  return Effect.fnUntraced(function* (receipt: Receipt) {
    if (!(yield* Queue.offer(queue, receipt))) yield* reportLost("The queue is full")
  })
})

const reportLost = (why: string): Effect.Effect<void> =>
  Effect.andThen(Metric.update(lost, 1), Effect.logWarning("A receipt was not stored", why))

/** A request that was made again under the same id has one receipt: of the run that was charged, else the last. */
const insert = (sql: SqlClient.SqlClient, batch: ReadonlyArray<Receipt>) => sql`
  INSERT INTO request_log (id, organization_id, at, receipt)
  SELECT DISTINCT ON (id) id, organization_id, to_timestamp(at_millis / 1000), receipt::jsonb
  FROM unnest(
    ${batch.map(({ id }) => id)}::uuid[],
    ${batch.map(({ organization }) => organization)}::uuid[],
    ${batch.map(({ atMillis }) => String(atMillis))}::float8[],
    ${batch.map(encodeReceipt)}::text[],
    ${batch.map(({ cost }) => String(cost))}::bigint[]
  ) WITH ORDINALITY AS t(id, organization_id, at_millis, receipt, cost, position)
  ORDER BY id, cost = 0, CASE WHEN cost = 0 THEN -position ELSE position END
  ON CONFLICT (id) DO UPDATE SET at = excluded.at, receipt = excluded.receipt
    WHERE request_log.receipt ->> 'cost' = '0' AND request_log.organization_id = excluded.organization_id`

/** Tries for as long as the database may come back. A refused batch is written one by one, so a bad row costs one. */
const store = (sql: SqlClient.SqlClient, batch: ReadonlyArray<Receipt>): Effect.Effect<void> =>
  insert(sql, batch).pipe(
    Effect.tapError((error) => Effect.logWarning("Receipts could not be stored", error)),
    Effect.retry({ while: isTransient, schedule: backoff }),
    Effect.catch((error) =>
      batch.length === 1
        ? reportLost(error.message)
        : Effect.forEach(batch, (receipt) => store(sql, [receipt]), { discard: true })
    ),
    Effect.asVoid
  )

const backoff = Schedule.min([Schedule.exponential(retryDelay), Schedule.spaced(retryDelayLimit)])
