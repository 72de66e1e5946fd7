/**
 * The single queue through which the holds and settlements of this process reach the database. While one batch is being
 * written the next one gathers, so the busier the gateway, the larger its batches; nothing waits for a timer.
 *
 * The rule: whatever the database does, every write is answered or stays in the queue. A row that the database rejects
 * is found by halving the batch, and the other rows are written without it. A charge that it rejects again and again is
 * set aside, where the audit finds it, and its hold is released.
 */
import { Cause, Clock, type Context, Duration, Effect, Metric, Option, Random } from "effect"
import type { SqlError } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"
import { counterOf, histogramOf, observed } from "../observability/MetricSeries.ts"
import { metricTable } from "../observability/MetricTable.ts"
import { Database } from "../sql/Database.ts"
import { isOutOfRange, isPermanent, isProgramFault, rejectionText } from "../sql/SqlState.ts"
import { BatchLane, type BatchWriter, statementTimeout } from "./BatchLane.ts"
import type { SettlementRow } from "./BatchRows.ts"
import { makeBatchStatement, type Written } from "./BatchStatement.ts"
import type { Charge, FindCharge } from "./Charge.ts"
import { amountOutOfRange, type LedgerError, ledgerUnavailable } from "./LedgerError.ts"
import {
  describeWrite,
  logUnwritten,
  type PendingHold,
  type PendingSettlement,
  type PendingWrite
} from "./PendingWrite.ts"
import { PendingWrites, type WriteTimes } from "./PendingWrites.ts"
import { setChargeAside } from "./RejectedCharges.ts"

const firstBackoffMillis = 50
const maxBackoffMillis = 2_000
/** How long a settlement that the database rejected waits before it is tried again. */
const rejectedRetry = Duration.minutes(1)
/** How often a charge is tried that the database rejects. Then it is set aside: it would be rejected for ever. */
const maxRejections = 5
/** How often deadlines are checked: one timer for all callers instead of one per request. */
const deadlineCheckInterval = Duration.millis(250)
/** How long a closing queue goes on writing. */
const drainTimeout = Duration.seconds(10)

const rejectedCharges = counterOf(metricTable.rejectedCharges)

/** Opens the queue for the gateway with this id. Closing the scope first writes what is still queued. */
export const openGroupCommit = Effect.fnUntraced(function* (gateway: string) {
  const clock = yield* Clock.Clock
  const writes = new PendingWrites(clock, yield* measuredTimes, () => lane.wake())
  yield* observed(metricTable.ledgerQueue, () => writes.size)
  yield* observed(metricTable.openHolds, () => writes.openHolds)
  const setAside = yield* makeSetAside
  const lane = new BatchLane(yield* Effect.context(), clock, writes, yield* makeWriter(gateway, writes, setAside))
  yield* repeatInBackground({
    run: Effect.andThen(
      writes.timeOutCallers,
      Effect.sync(() => lane.checkDeadline())
    ),
    every: deadlineCheckInterval,
    failureMessage: "The deadlines of the ledger's callers could not be checked"
  })
  yield* Effect.addFinalizer(() => drain(writes, lane, setAside))
  return writes
})

const measuredTimes = Effect.contextWith((context: Context.Context<never>) => {
  const hold = histogramOf(metricTable.holdDuration)
  const settlement = histogramOf(metricTable.settleDuration)
  return Effect.succeed<WriteTimes>({
    hold: (millis) => hold.updateUnsafe(millis / 1_000, context),
    settlement: (millis) => settlement.updateUnsafe(millis / 1_000, context)
  })
})

/** Stores a rejected charge apart from the journal and tells the operator. `false` if it could not be stored either. */
const makeSetAside = Effect.map(Database, ({ ledger }) =>
  Effect.fnUntraced(function* (settlement: PendingSettlement) {
    const { rejection, row } = settlement
    const stored = yield* setChargeAside(ledger, row, rejection).pipe(
      Effect.timeout(statementTimeout),
      Effect.as(true),
      Effect.catchCause((cause) =>
        Effect.logError("A rejected charge could not be set aside").pipe(
          Effect.annotateLogs({ ...describeWrite(settlement), cause: describeCause(cause) }),
          Effect.as(false)
        )
      )
    )
    if (!stored) return false
    yield* Metric.update(rejectedCharges, 1)
    yield* Effect.logError(
      "A charge that the database rejects was set aside; `ledger verify` names it until it is booked",
      {
        ...describeWrite(settlement),
        rejection
      }
    )
    return true
  })
)

type SetAside = Effect.Success<typeof makeSetAside>

const isRejectedCharge = ({ rejections, row }: PendingSettlement): boolean => rejections > 0 && row.charge !== undefined

const drain = Effect.fnUntraced(function* (
  writes: PendingWrites,
  lane: BatchLane<SqlError.SqlError>,
  setAside: SetAside
) {
  writes.close()
  yield* lane.idle.pipe(Effect.timeoutOption(drainTimeout))
  yield* lane.stop
  const end = (settlement: PendingSettlement) =>
    isRejectedCharge(settlement)
      ? Effect.flatMap(setAside(settlement), (stored) => (stored ? Effect.void : logUnwritten(settlement)))
      : logUnwritten(settlement)
  yield* Effect.forEach(writes.unwritten, end, { concurrency: "unbounded", discard: true })
})

type BatchFailure = Cause.Cause<SqlError.SqlError | Cause.TimeoutError>

/** How batches are written, and what is done when that fails. */
const makeWriter = Effect.fnUntraced(function* (gateway: string, writes: PendingWrites, setAside: SetAside) {
  const statement = yield* makeBatchStatement
  const reject = yield* makeReject(writes, setAside)

  /**
   * Grants the holds of a batch whose answer was lost, if they are stored. Sent a second time, they would be weighed
   * against a balance from which they have already been taken.
   */
  const lookUp = Effect.fnUntraced(function* (uncertain: ReadonlyArray<PendingHold>) {
    const stored = yield* statement.findHolds(uncertain.map((hold) => hold.row.id))
    for (const hold of uncertain) if (stored.has(hold.row.id)) writes.answerHold(hold)
  })

  const write = (batch: ReadonlyArray<PendingWrite>) => {
    const settlements = batch.filter((write) => write._tag === "Settlement")
    const holds = batch.filter((write) => write._tag === "Hold")
    const charges = settlements.filter(({ row }) => row.charge !== undefined).map(({ row }) => row.id)
    const answer = (written: Written, earlier?: FindCharge): void => {
      for (const settlement of settlements) writes.completeSettlement(settlement, bookedCharge(settlement.row, earlier))
      for (const [index, hold] of holds.entries()) writes.answerHold(hold, written.refused.get(index))
    }
    const rows = { settlements: settlements.map(({ row }) => row), holds: holds.map(({ row }) => row) }
    return Effect.flatMap(statement.write({ gateway, ...rows }), (written) => {
      // An id that had a charge keeps it: one of an earlier try, or this one, if the answer to its statement was lost.
      if (written.booked < charges.length)
        return Effect.map(statement.findCharges(charges), (earlier) => answer(written, earlier))
      answer(written)
      return Effect.void
    })
  }

  const send: BatchWriter<SqlError.SqlError>["send"] = (batch) => {
    const uncertain = batch.filter((write) => write._tag === "Hold").filter((hold) => hold.mayExist)
    return uncertain.length === 0
      ? write(batch)
      : Effect.flatMap(lookUp(uncertain), () => write(batch.filter((pending) => writes.isStillNeeded(pending))))
  }

  const recover = (batch: ReadonlyArray<PendingWrite>, attempt: number, cause: BatchFailure): Effect.Effect<void> => {
    const [first] = batch
    if (first === undefined) return Effect.void
    const rejected = isRejected(cause)
    if (!rejected) for (const write of batch) if (write._tag === "Hold") write.mayExist = true
    if (!rejected && !isUnexpected(cause)) return retry(batch, attempt, cause)
    return batch.length === 1 ? reject(first, cause) : halve(batch)
  }

  /** Writes a batch that could not be written before. */
  const commit = (pending: ReadonlyArray<PendingWrite>, attempt: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      const batch = pending.filter((write) => writes.isStillNeeded(write))
      if (batch.length === 0) return Effect.void
      return Effect.catchCause(Effect.timeout(send(batch), statementTimeout), (cause) => recover(batch, attempt, cause))
    })

  const halve = (batch: ReadonlyArray<PendingWrite>): Effect.Effect<void> => {
    const middle = Math.ceil(batch.length / 2)
    return Effect.andThen(commit(batch.slice(0, middle), 0), commit(batch.slice(middle), 0))
  }

  const retry = (batch: ReadonlyArray<PendingWrite>, attempt: number, cause: BatchFailure): Effect.Effect<void> =>
    Effect.logWarning("The ledger could not write a batch and will try again").pipe(
      Effect.annotateLogs({ writes: batch.length, attempt, cause: describeCause(cause) }),
      Effect.andThen(Random.nextBetween(1, 2)),
      Effect.flatMap((jitter) => Effect.sleep(Duration.millis(backoffMillis(attempt) * jitter))),
      Effect.flatMap(() => commit(batch, attempt + 1))
    )

  return { send, recover: (batch, cause) => recover(batch, 0, cause) } satisfies BatchWriter<SqlError.SqlError>
})

/** The function that deals with a write that the database rejected even by itself. */
const makeReject = Effect.fnUntraced(function* (writes: PendingWrites, setAside: SetAside) {
  const scope = yield* Effect.scope

  return Effect.fnUntraced(function* (write: PendingWrite, cause: BatchFailure) {
    yield* Effect.logError("The database rejected a write of the ledger").pipe(
      Effect.annotateLogs({ ...describeWrite(write), cause: describeCause(cause) })
    )
    if (write._tag === "Hold") return writes.refuseHold(write, Effect.fail(refusalOf(cause)))
    write.rejections++
    write.rejection = textOf(cause)
    if (write.rejections >= maxRejections && isRejectedCharge(write) && (yield* setAside(write)))
      return writes.refundInstead(write)
    yield* Effect.sync(() => writes.requeue(write)).pipe(Effect.delay(rejectedRetry), Effect.forkIn(scope))
  })
})

const bookedCharge = ({ charge, id, organization }: SettlementRow, find: FindCharge | undefined): Charge | undefined =>
  (charge && find?.(id, organization)) ?? charge

const backoffMillis = (attempt: number): number => Math.min(firstBackoffMillis * 2 ** attempt, maxBackoffMillis)

const sqlErrorOf = (cause: BatchFailure): SqlError.SqlError | undefined =>
  Option.getOrUndefined(Option.filter(Cause.findErrorOption(cause), (error) => error._tag === "SqlError"))

/** The database rejected the statement and so wrote nothing of it. After any other failure it may have. */
const isRejected = (cause: BatchFailure): boolean => {
  const error = sqlErrorOf(cause)
  return error !== undefined && isPermanent(error)
}

/**
 * Neither the database nor the connection failed, so something in the batch or in this program is at fault. The batch
 * is halved as after a rejection: it matters more that the other writes go on than to know the reason.
 */
const isUnexpected = (cause: BatchFailure): boolean => {
  if (Option.isNone(Cause.findErrorOption(cause))) return true
  const error = sqlErrorOf(cause)
  return error !== undefined && isProgramFault(error)
}

const textOf = (cause: BatchFailure): string => {
  const error = sqlErrorOf(cause)
  return error === undefined ? "an unexpected failure" : rejectionText(error)
}

const refusalOf = (cause: BatchFailure): LedgerError => {
  const error = sqlErrorOf(cause)
  return error !== undefined && isOutOfRange(error) ? amountOutOfRange() : ledgerUnavailable(cause)
}
