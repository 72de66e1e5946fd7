/**
 * The log of requests: one receipt for each. A receipt explains a charge, but no charge depends on it. The rule:
 * writing the log never delays or fails a request. Receipts wait in a bounded queue; those that find it full are
 * counted and lost.
 */
import {
  type Cause,
  Context,
  Data,
  Duration,
  Effect,
  Fiber,
  Layer,
  Metric,
  Option,
  Predicate,
  Queue,
  Schedule
} from "effect"
import { SqlClient } from "effect/sql"

import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import { isPermanent } from "../sql/SqlState.ts"
import type { Receipt } from "./Receipt.ts"
import { decodeReceipt, encodeReceipt } from "./StoredReceipt.ts"

const queueCapacity = 10_000
const maxBatch = 500
const retryDelay = Duration.millis(100)
const maxRetryDelay = Duration.seconds(10)
/** How long closing waits for the receipts that are still queued. */
const flushTimeout = Duration.seconds(5)

const lost = Metric.counter("request_log_lost_total", {
  description: "Receipts that were not stored: the queue was full, or the database refused them.",
  incremental: true
})

/** Why a receipt cannot be read. */
export class RequestLogError extends Data.TaggedError("RequestLogError")<{
  /** `Unreadable`: stored by a version whose format this one does not understand. */
  readonly reason: "Unavailable" | "Unreadable"
  readonly cause: unknown
}> {}

export class RequestLog extends Context.Service<
  RequestLog,
  {
    /** Queues a receipt, which is normally stored within milliseconds. */
    readonly record: (receipt: Receipt) => Effect.Effect<void>
    /** The receipt of one request of this organization. */
    readonly find: (
      organization: OrganizationId,
      id: RequestId
    ) => Effect.Effect<Option.Option<Receipt>, RequestLogError>
  }
>()("tollgate/receipts/RequestLog") {
  static readonly layer = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const record = yield* makeRecord

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

/** The queue and its one worker. While a batch is being written, the next one gathers. */
const makeRecord = Effect.gen(function* () {
  const store = yield* makeStore
  const queue = yield* Queue.dropping<Receipt, Cause.Done>(queueCapacity)
  const worker = Queue.takeBetween(queue, 1, maxBatch).pipe(
    Effect.flatMap(store),
    Effect.forever,
    // The queue ends when the scope closes, once all that it held has been taken.
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

const reportLost = (reason: string): Effect.Effect<void> =>
  Effect.andThen(Metric.update(lost, 1), Effect.logWarning("A receipt was not stored", reason))

/** Stores a batch, and tries for as long as that may help. The rows of a rejected batch are written one by one. */
const makeStore = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** A request that ran twice under one id has one receipt: that of the run that was charged, or else of the last. */
  const insert = (batch: ReadonlyArray<Receipt>) => sql`
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

  const store = (batch: ReadonlyArray<Receipt>): Effect.Effect<void> =>
    insert(batch).pipe(
      Effect.tapError((error) => Effect.logWarning("Receipts could not be stored", error)),
      Effect.retry({ while: Predicate.not(isPermanent), schedule: backoff }),
      Effect.catch((error) =>
        batch.length === 1
          ? reportLost(error.message)
          : Effect.forEach(batch, (receipt) => store([receipt]), { discard: true })
      ),
      Effect.asVoid
    )

  return store
})

const backoff = Schedule.min([Schedule.exponential(retryDelay), Schedule.spaced(maxRetryDelay)])
