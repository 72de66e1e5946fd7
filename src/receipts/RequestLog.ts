/**
 * The log of requests: one receipt for each. What a charge was computed from is stored with the charge; the log adds
 * how the request was routed and attempted, and the requests that cost nothing. The rule: writing the log never delays
 * or fails a request. Receipts wait in a bounded queue, in which they can be found; those that find it full are counted
 * and lost.
 */
import {
  type Cause,
  Context,
  Data,
  Deferred,
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
import { picodollars } from "../domain/Money.ts"
import { describeFault } from "../observability/ErrorDescription.ts"
import { counterOf, observed } from "../observability/MetricSeries.ts"
import { metricTable } from "../observability/MetricTable.ts"
import { isPermanent } from "../sql/SqlState.ts"
import { chargedReceipt } from "./ChargedReceipt.ts"
import { insertLatest, logParameters } from "./LogColumns.ts"
import { decodePrice } from "./PriceList.ts"
import type { Receipt } from "./Receipt.ts"
import { decodeChargeFacts, decodeReceipt, encodeReceipt } from "./StoredReceipt.ts"

const queueCapacity = 10_000
const maxBatch = 500
/**
 * How long after a batch the next one gathers, unless that is full already. Each batch is a transaction whose commit is
 * flushed and that counts its rows in the rollups, which slows the ledger down when it is done for every receipt.
 */
const gatherTime = Duration.millis(100)
const retryDelay = Duration.millis(100)
const maxRetryDelay = Duration.seconds(10)
/** How long closing waits for the receipts that are still queued. */
const flushTimeout = Duration.seconds(5)

const lost = counterOf(metricTable.lostReceipts)

/** Why a receipt cannot be read. */
export class RequestLogError extends Data.TaggedError("RequestLogError")<{
  /** `Unreadable`: stored by a version whose format this one does not understand. */
  readonly reason: "Unavailable" | "Unreadable"
  readonly cause: unknown
}> {}

export class RequestLog extends Context.Service<
  RequestLog,
  {
    /**
     * Queues a receipt, which is normally stored within a tenth of a second. With `final`, the receipt can be found
     * at once, and what `final` returns in the end is stored in its place.
     */
    readonly record: (receipt: Receipt, final?: Effect.Effect<Receipt>) => Effect.Effect<void>
    /**
     * The receipt of one request of this organization: as recorded here and not stored yet, or as stored, or made from
     * its charge.
     */
    readonly find: (
      organization: OrganizationId,
      id: RequestId
    ) => Effect.Effect<Option.Option<Receipt>, RequestLogError>
  }
>()("tollgate/receipts/RequestLog") {
  static readonly layer = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const waiting = new WaitingReceipts()
      yield* observed(metricTable.requestLogQueue, () => waiting.size)
      const record = yield* makeRecord(waiting)
      const findStored = yield* makeFindStored

      const find = Effect.fn("RequestLog.find")(function* (organization: OrganizationId, id: RequestId) {
        const unstored = waiting.find(organization, id)
        const recorded = unstored && (yield* asStored(unstored))
        // One that cost nothing may be of a try that failed after another one was charged.
        if (recorded?.usage !== undefined) return Option.some(recorded)
        const stored = yield* findStored(organization, id)
        return Option.orElse(stored, () => Option.fromUndefinedOr(recorded))
      })

      return RequestLog.of({ record, find })
    })
  )
}

/** The receipt as it will be read from the database, so that text is the same before and after it is stored. */
const asStored = (receipt: Receipt) => Effect.orDie(decodeReceipt(JSON.parse(encodeReceipt(receipt))))

interface FoundRow {
  readonly receipt: unknown
  readonly amount: bigint | null
  readonly facts: unknown
  readonly price: unknown
}

/** The stored receipt of a request, in accord with its charge if the journal has one. */
export const makeFindStored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  return Effect.fnUntraced(function* (organization: OrganizationId, id: RequestId) {
    const [row] = yield* sql<FoundRow>`
      SELECT receipt, -amount AS amount, facts, price
      FROM (SELECT ${id}::uuid AS id, ${organization}::uuid AS organization_id) AS asked
      LEFT JOIN (SELECT id, organization_id, receipt FROM request_receipt WHERE at = request_time(${id}::uuid))
        AS logged
        USING (id, organization_id)
      LEFT JOIN (SELECT * FROM credit_entry WHERE kind = 'charge' AND facts IS NOT NULL) AS charge
        USING (id, organization_id)
      LEFT JOIN price_list
        ON catalog_version = facts->>'catalogVersion' AND endpoint = facts->'served'->>'endpoint'`.pipe(
      Effect.mapError((cause) => new RequestLogError({ reason: "Unavailable", cause }))
    )
    if (row === undefined) return Option.none()
    return yield* readRow(organization, id, row).pipe(
      Effect.mapError((cause) => new RequestLogError({ reason: "Unreadable", cause }))
    )
  })
})

const readRow = Effect.fnUntraced(function* (organization: OrganizationId, id: RequestId, row: FoundRow) {
  const stored = row.receipt === null ? undefined : yield* decodeReceipt(row.receipt)
  if (row.amount === null) return Option.fromUndefinedOr(stored)
  const facts = yield* decodeChargeFacts(row.facts)
  const price = row.price === null ? undefined : yield* decodePrice(row.price)
  return Option.some(chargedReceipt(stored, { id, organization, amount: picodollars(row.amount), facts, price }))
})

/** The receipts in the queue and in the batch that is being written, by request. There are at most as many as fit. */
class WaitingReceipts {
  private readonly receipts = new Map<RequestId, Receipt>()

  get size(): number {
    return this.receipts.size
  }

  add(receipt: Receipt): void {
    this.receipts.set(receipt.id, receipt)
  }

  /** A later receipt of the same request stays. */
  remove(receipt: Receipt): void {
    if (this.receipts.get(receipt.id) === receipt) this.receipts.delete(receipt.id)
  }

  find(organization: OrganizationId, id: RequestId): Receipt | undefined {
    const found = this.receipts.get(id)
    return found?.organization === organization ? found : undefined
  }
}

/** The queue and its one worker. The first receipt is written at once; after it, the next batch gathers for a while. */
const makeRecord = Effect.fnUntraced(function* (waiting: WaitingReceipts) {
  const store = yield* makeStore
  const queue = yield* Queue.dropping<Receipt, Cause.Done>(queueCapacity)
  const closing = yield* Deferred.make<void>()
  const gather = Effect.suspend(() =>
    Queue.sizeUnsafe(queue) >= maxBatch ? Effect.void : Effect.timeoutOption(Deferred.await(closing), gatherTime)
  )
  const worker = Queue.takeBetween(queue, 1, maxBatch).pipe(
    Effect.flatMap((batch) =>
      Effect.ensuring(
        store(batch),
        Effect.sync(() => batch.forEach((receipt) => waiting.remove(receipt)))
      )
    ),
    Effect.andThen(gather),
    Effect.forever,
    // The queue ends when the scope closes, once all that it held has been taken.
    Effect.catch(() => Effect.void),
    Effect.interruptible
  )
  yield* Effect.acquireRelease(Effect.forkDetach(worker), (fiber) =>
    Queue.end(queue).pipe(
      Effect.andThen(Deferred.succeed(closing, undefined)),
      Effect.andThen(Fiber.await(fiber)),
      Effect.timeoutOrElse({ duration: flushTimeout, orElse: () => reportLost("Closed before all was stored") }),
      Effect.andThen(Fiber.interrupt(fiber))
    )
  )
  const enqueue = (receipt: Receipt): Effect.Effect<void> =>
    Effect.suspend(() => {
      waiting.add(receipt)
      if (Queue.offerUnsafe(queue, receipt)) return Effect.void
      waiting.remove(receipt)
      return reportLost("The queue is full")
    })
  const scope = yield* Effect.scope
  return (receipt: Receipt, final?: Effect.Effect<Receipt>): Effect.Effect<void> => {
    if (final === undefined) return enqueue(receipt)
    return Effect.suspend(() => {
      waiting.add(receipt)
      return Effect.flatMap(final, enqueue).pipe(
        Effect.ensuring(Effect.sync(() => waiting.remove(receipt))),
        Effect.forkIn(scope),
        Effect.asVoid
      )
    })
  }
})

const reportLost = (reason: string): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(lost, 1),
    Effect.annotateLogs(Effect.logWarning("A receipt was not stored"), { cause: reason })
  )

/** Stores a batch, and tries for as long as that may help. The rows of a rejected batch are written one by one. */
const makeStore = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const store = (batch: ReadonlyArray<Receipt>): Effect.Effect<void> =>
    sql.unsafe(insertLatest, logParameters(batch)).pipe(
      Effect.tapError((error) =>
        Effect.annotateLogs(Effect.logWarning("Receipts could not be stored"), {
          receipts: batch.length,
          cause: describeFault(error)
        })
      ),
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
