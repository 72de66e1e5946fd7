/**
 * Moves the receipts of earlier versions, which are JSON in `request_log`, to the request log of this version. Replicas
 * of an earlier version may go on writing there while they are replaced, so it is looked at again and again. The rule:
 * a receipt is deleted there in the same transaction that stores it here, and one that cannot be read stays.
 */
import { Duration, Effect, Layer, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { nilUuid } from "../sql/Pages.ts"
import { insertEarlier, logParameters } from "./LogColumns.ts"
import { dayOf, requirePartition } from "./LogPartitions.ts"
import { decodeReceipt, millisIn } from "./StoredReceipt.ts"

/** Few, because decoding takes the time of requests. */
const batchSize = 100
const pauseBetweenBatches = Duration.millis(100)
const lookInterval = Duration.minutes(1)

interface Row {
  readonly id: string
  readonly receipt: unknown
}

/** Moves the first receipts after an id, and returns the id of the last one; `None` when there is none left. */
const moveBatch = Effect.fn("EarlierReceipts.moveBatch")(function* (after: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<Row>`
    SELECT id, receipt FROM request_log WHERE id > ${after}::uuid ORDER BY id LIMIT ${batchSize}
    FOR UPDATE SKIP LOCKED`
  const receipts = (yield* Effect.forEach(rows, ({ receipt }) => Effect.option(decodeReceipt(receipt)))).flatMap(
    Option.toArray
  )
  if (receipts.length > 0) {
    yield* sql.unsafe(insertEarlier, logParameters(receipts))
    yield* sql`DELETE FROM request_log WHERE id = ANY(${receipts.map(({ id }) => id)}::uuid[])`
  }
  return Option.map(Option.fromUndefinedOr(rows.at(-1)), ({ id }) => id)
})

/** The days of the next receipts get their partitions first, because that needs transactions of its own. */
const requireDays = Effect.fnUntraced(function* (after: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly id: string }>`
    SELECT id FROM request_log WHERE id > ${after}::uuid ORDER BY id LIMIT ${batchSize}`
  const days = new Set(rows.map(({ id }) => dayOf(millisIn(id))))
  yield* Effect.forEach(days, requirePartition, { discard: true })
})

/** Moves all receipts that can be read. */
export const moveEarlierReceipts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let after = nilUuid
  const next = Effect.gen(function* () {
    yield* requireDays(after)
    const last = yield* sql.withTransaction(moveBatch(after))
    after = Option.getOrElse(last, () => after)
    return Option.isSome(last)
  })
  yield* Effect.repeat(next, { while: (more) => more, schedule: Schedule.spaced(pauseBetweenBatches) })
})

/** Moves them in the background until the scope closes. */
export const earlierReceiptsLayer = Layer.effectDiscard(
  repeatInBackground({
    run: moveEarlierReceipts,
    every: lookInterval,
    startAtOnce: true,
    failureMessage: "Receipts of an earlier version could not be moved"
  })
)
