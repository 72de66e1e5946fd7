/**
 * The one lane on which holds and settlements of this process go to the database. While a batch is in flight the next
 * one gathers, so the busier the gateway, the larger its batches; nothing waits for a timer.
 *
 * The rule: whatever the database does, every write gets its answer or stays in the lane. A row that the database
 * rejects is found by halving the batch, and its neighbours are written without it.
 */
import { Cause, Clock, Duration, Effect, Fiber, Metric, Option, Queue, Random, Schedule, type Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

import { sqlStateOf } from "../sql/SqlState.ts"
import { Backlog, describe, logLost, type Pending } from "./Backlog.ts"
import { existingHolds, isOutOfRange, writeBatch } from "./BatchStatement.ts"
import { amountOutOfRange, type LedgerError, ledgerUnavailable } from "./LedgerError.ts"

/** A batch without an answer after this long counts as lost. */
const statementTimeout = Duration.seconds(10)
const firstBackoffMillis = 50
const maxBackoffMillis = 2_000
/** When a settlement that the database rejected is tried again. */
const rejectedRetry = Duration.minutes(1)
/** How often waiting callers are looked at: one timer for all instead of one per request. */
const patienceInterval = Duration.millis(250)
/** How long a closing lane goes on writing. */
const drainTimeout = Duration.seconds(10)

const batchSize = Metric.histogram("tollgate_ledger_batch_size", {
  description: "Holds and settlements per statement",
  boundaries: [1, 4, 16, 64, 256]
})
const queued = Metric.gauge("tollgate_ledger_queued", {
  description: "Holds and settlements that wait for a statement"
})

interface Options {
  readonly sql: SqlClient.SqlClient
  /** The id under which holds are stored. */
  readonly gateway: string
}

/** Opens the lane. Closing the scope first writes what is still in it. */
export const openGroupCommit = Effect.fnUntraced(function* (options: Options) {
  const backlog = new Backlog(yield* Clock.Clock, yield* Queue.unbounded<Pending, Cause.Done>())
  const commit = committer(options, backlog, yield* Effect.scope)
  // Every statement leaves the microtask queue, on the embedded engine as well, so this loop starves nobody.
  const worker = yield* backlog.take().pipe(
    Effect.tap((batch) => Effect.all([Metric.update(batchSize, batch.length), Metric.update(queued, backlog.size)])),
    Effect.tap((batch) => commit(batch, 0)),
    Effect.forever,
    Effect.forkScoped
  )
  yield* backlog.losePatience.pipe(Effect.repeat(Schedule.spaced(patienceInterval)), Effect.forkScoped)
  yield* Effect.addFinalizer(() => drain(backlog, worker))
  return backlog
})

const drain = Effect.fnUntraced(function* (backlog: Backlog, worker: Fiber.Fiber<unknown, Cause.Done>) {
  backlog.close()
  yield* Fiber.await(worker).pipe(Effect.timeoutOption(drainTimeout))
  yield* Fiber.interrupt(worker)
  yield* Effect.forEach(backlog.unwritten, logLost, { discard: true })
})

type Failed = Cause.Cause<SqlError.SqlError | Cause.TimeoutError>

/** Writes a batch, and comes back only when each of its writes is answered or set aside. */
const committer = ({ sql, gateway }: Options, backlog: Backlog, scope: Scope.Scope) => {
  /** Holds of a batch whose answer was lost are granted if they are there: a second try would meet their own cost. */
  const lookUp = Effect.fnUntraced(function* (batch: ReadonlyArray<Pending>) {
    const unclear = batch.filter((pending) => pending._tag === "Hold").filter((hold) => hold.mayExist)
    if (unclear.length === 0) return
    const ids = unclear.map((hold) => hold.row.id)
    const there = yield* existingHolds(sql, ids)
    for (const hold of unclear) if (there.has(hold.row.id)) backlog.answer(hold, true)
  })

  const send = Effect.fnUntraced(function* (batch: ReadonlyArray<Pending>) {
    yield* lookUp(batch)
    const wanted = batch.filter((pending) => backlog.isWanted(pending))
    const settlements = wanted.filter((pending) => pending._tag === "Settlement")
    const holds = wanted.filter((pending) => pending._tag === "Hold")
    const refused = yield* writeBatch(sql, {
      gateway,
      settlements: settlements.map((settlement) => settlement.row),
      holds: holds.map((hold) => hold.row)
    })
    for (const settlement of settlements) backlog.durable(settlement)
    for (const [index, hold] of holds.entries()) backlog.answer(hold, !refused.has(index))
  })

  const commit = (pending: ReadonlyArray<Pending>, attempt: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      const batch = pending.filter((one) => backlog.isWanted(one))
      const [only] = batch
      if (only === undefined) return Effect.void
      return Effect.catchCause(Effect.timeout(send(batch), statementTimeout), (cause) => {
        const rejected = isRejected(cause)
        if (!rejected) for (const pending of batch) if (pending._tag === "Hold") pending.mayExist = true
        if (!rejected && !isBroken(cause)) return retry(batch, attempt, cause)
        return batch.length === 1 ? setAside(only, cause) : halve(batch)
      })
    })

  const halve = (batch: ReadonlyArray<Pending>): Effect.Effect<void> => {
    const middle = Math.ceil(batch.length / 2)
    return Effect.andThen(commit(batch.slice(0, middle), 0), commit(batch.slice(middle), 0))
  }

  const retry = (batch: ReadonlyArray<Pending>, attempt: number, cause: Failed): Effect.Effect<void> =>
    Effect.logWarning("The ledger could not write and tries again", { writes: batch.length, attempt }, cause).pipe(
      Effect.andThen(Random.nextBetween(1, 2)),
      Effect.flatMap((jitter) => Effect.sleep(Duration.millis(backoffMillis(attempt) * jitter))),
      Effect.flatMap(() => commit(batch, attempt + 1))
    )

  const setAside = Effect.fnUntraced(function* (pending: Pending, cause: Failed) {
    yield* Effect.logError("The database rejects a write of the ledger", describe(pending), cause)
    if (pending._tag === "Hold") return backlog.refuse(pending, Effect.fail(rejectionOf(cause)))
    yield* Effect.sync(() => backlog.again(pending)).pipe(Effect.delay(rejectedRetry), Effect.forkIn(scope))
  })

  return commit
}

const backoffMillis = (attempt: number): number => Math.min(firstBackoffMillis * 2 ** attempt, maxBackoffMillis)

const sqlErrorOf = (cause: Failed): SqlError.SqlError | undefined =>
  Option.getOrUndefined(Option.filter(Cause.findErrorOption(cause), (error) => error._tag === "SqlError"))

/** Data exceptions, violated constraints, statements that cannot run: sent again, they would fail again. */
const rejections = /^(22|23|42)/

/** The database rejected what was sent, and so wrote nothing of it. After any other failure it may have. */
const isRejected = (cause: Failed): boolean => {
  const error = sqlErrorOf(cause)
  return error !== undefined && rejections.test(sqlStateOf(error) ?? "")
}

/**
 * Neither the database nor the connection is at fault, so it must be something in the batch or in this program. It is
 * narrowed down like a rejection: that the lane goes on matters more than to know why.
 */
const isBroken = (cause: Failed): boolean => {
  if (Option.isNone(Cause.findErrorOption(cause))) return true
  const error = sqlErrorOf(cause)
  return error?.reason._tag === "UnknownError" && sqlStateOf(error) === undefined
}

const rejectionOf = (cause: Failed): LedgerError => {
  const error = sqlErrorOf(cause)
  return error !== undefined && isOutOfRange(error) ? amountOutOfRange() : ledgerUnavailable(cause)
}
