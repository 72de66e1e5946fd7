/**
 * Holds and settlements that are not in the database yet, and the callers who wait for them.
 *
 * The rule: a hold is either granted to a caller who is still there, or released. A settlement leaves only when it is
 * durable. Every change is made within one step of the event loop, so no fiber sees half of one.
 */
import { type Clock, Deferred, Duration, Effect } from "effect"

import type { RequestId } from "../domain/Ids.ts"
import { type SettlementRow, settlementOf } from "./BatchRows.ts"
import type { Charge } from "./Charge.ts"
import type { Refusal } from "./HoldAccounts.ts"
import { HoldTurns } from "./HoldTurns.ts"
import { type LedgerError, ledgerUnavailable } from "./LedgerError.ts"
import {
  answeredLate,
  logUnwritten,
  noCharge,
  type PendingHold,
  type PendingSettlement,
  type PendingWrite,
  type Settled
} from "./PendingWrite.ts"

/** The most writes in one batch. */
const maxBatch = 500
/** The most holds that may be queued; further ones fail at once. There is at most one settlement for each hold. */
const maxQueuedHolds = 10_000
const holdTimeoutMillis = Duration.toMillis("10 seconds")
const settlementTimeoutMillis = Duration.toMillis("1 second")

/** Takes how long holds and settlements took to be answered, in milliseconds. */
export interface WriteTimes {
  readonly hold: (millis: number) => void
  readonly settlement: (millis: number) => void
}

export class PendingWrites {
  private readonly clock: Clock.Clock
  private readonly times: WriteTimes
  /** Called when something was queued. */
  private readonly queued: () => void
  private queue: Array<PendingWrite> = []
  private isClosed = false
  private queuedHolds = 0
  /** What this process has not ended yet, by request: its open holds and its unwritten settlements. */
  private readonly open = new Map<RequestId, PendingWrite>()
  /** Writes with a caller who waits. All wait equally long, so the first has the earliest deadline. */
  private readonly waitingHolds = new Set<PendingHold>()
  private readonly waitingSettlements = new Set<PendingSettlement>()
  /** Holds that wait for other holds to end, and not for the database. */
  private readonly turns = new HoldTurns({
    attempt: (hold) => {
      if (!this.enqueue(hold)) this.refuseHold(hold, Effect.fail(ledgerUnavailable("the ledger is closed")))
    },
    refuse: (hold, refusal) => {
      hold.refusal = refusal
      this.refuseHold(hold, Effect.succeed(false))
    }
  })

  constructor(clock: Clock.Clock, times: WriteTimes, queued: () => void) {
    this.clock = clock
    this.times = times
    this.queued = queued
  }

  /** Whether the hold was granted. Interruption is safe: a hold whose caller no longer waits is released. */
  hold(hold: PendingHold): Effect.Effect<boolean, LedgerError> {
    return Effect.callback((resume) => {
      if (this.queuedHolds >= maxQueuedHolds) return resume(Effect.fail(ledgerUnavailable("too many holds wait")))
      if (!this.enqueue(hold)) return resume(Effect.fail(ledgerUnavailable("the ledger is closed")))
      this.open.set(hold.row.id, hold)
      hold.state = "waiting"
      hold.answer = resume
      return Effect.sync(() => this.abandon(hold))
    })
  }

  /** Queues a settlement. It stays pending until it is durable. */
  settle(row: SettlementRow): PendingSettlement {
    const deadline = this.clock.currentTimeMillisUnsafe() + settlementTimeoutMillis
    const answered = Deferred.makeUnsafe<Settled>()
    const settlement: PendingSettlement = {
      _tag: "Settlement",
      row,
      rejections: 0,
      rejection: "",
      answered,
      booked: undefined,
      late: undefined,
      deadline
    }
    this.open.set(row.id, settlement)
    if (this.offer(settlement)) this.waitingSettlements.add(settlement)
    else Deferred.doneUnsafe(answered, Effect.as(logUnwritten(settlement), answeredLate(settlement)))
    return settlement
  }

  /** The charge of this settlement was set aside, and what is left of it is the release of its hold. */
  refundInstead(settlement: PendingSettlement): void {
    settlement.row = { ...settlement.row, charge: undefined }
    this.requeue(settlement)
  }

  /** Queues a settlement again that could not be written. */
  requeue(settlement: PendingSettlement): void {
    this.offer(settlement)
  }

  /** Takes what is queued, up to a batch. It can be empty because of holds that have to wait for others. */
  take(): ReadonlyArray<PendingWrite> {
    const batch = this.queue.length <= maxBatch ? this.queue : this.queue.splice(0, maxBatch)
    if (batch === this.queue) this.queue = []
    for (const write of batch) if (write._tag === "Hold") this.queuedHolds--
    return this.turns.isEmpty ? batch : batch.filter((write) => write._tag !== "Hold" || !this.waitsForTurn(write))
  }

  /** Whether it is still to be written. A hold whose caller has left is not; it is released if it may exist. */
  isStillNeeded(write: PendingWrite): boolean {
    if (write._tag === "Settlement" || write.state === "waiting") return true
    if (write.state === "abandoned") this.end(write)
    return false
  }

  /** Passes on the database's answer to a hold: granted unless there is a `refusal`. */
  answerHold(hold: PendingHold, refusal?: Refusal): void {
    this.times.hold(this.clock.currentTimeMillisUnsafe() - hold.deadline + holdTimeoutMillis)
    if (refusal === undefined && hold.state === "waiting") {
      this.waitingHolds.delete(hold)
      hold.state = "granted"
      this.turns.granted(hold)
      hold.answer(Effect.succeed(true))
    } else if (refusal !== undefined && hold.state === "waiting" && this.turns.keeps(hold, refusal)) {
      this.waitingHolds.delete(hold)
    } else {
      hold.mayExist ||= refusal === undefined
      hold.refusal = refusal
      this.refuseHold(hold, Effect.succeed(false))
    }
  }

  refuseHold(hold: PendingHold, answer: Effect.Effect<false, LedgerError>): void {
    this.waitingHolds.delete(hold)
    this.turns.leave(hold)
    this.end(hold)
    hold.answer(answer)
  }

  /** A settlement is in the database, which has booked `charge` for its request. */
  completeSettlement(settlement: PendingSettlement, charge: Charge | undefined): void {
    this.times.settlement(this.clock.currentTimeMillisUnsafe() - settlement.deadline + settlementTimeoutMillis)
    this.waitingSettlements.delete(settlement)
    this.open.delete(settlement.row.id)
    this.turns.released(settlement.row)
    settlement.booked = { charge: charge ?? noCharge }
    if (settlement.late !== undefined) Deferred.doneUnsafe(settlement.late, Effect.succeed(settlement.booked.charge))
    Deferred.doneUnsafe(settlement.answered, Effect.succeed(settlement.booked))
  }

  /**
   * Answers the callers whose deadline has passed. Their holds fail; their settlements stay pending. Holds that wait
   * for others are tried again.
   */
  readonly timeOutCallers: Effect.Effect<void> = Effect.sync(() => {
    const now = this.clock.currentTimeMillisUnsafe()
    for (const hold of this.waitingHolds) {
      if (hold.deadline > now) break
      this.abandon(hold)
      hold.answer(Effect.fail(ledgerUnavailable("the database does not answer")))
    }
    for (const settlement of this.waitingSettlements) {
      if (settlement.deadline > now) break
      this.waitingSettlements.delete(settlement)
      Deferred.doneUnsafe(settlement.answered, Effect.succeed(answeredLate(settlement)))
    }
    this.turns.check()
  })

  /** Whether this process has an open hold or an unwritten settlement for the request. */
  has(id: RequestId): boolean {
    return this.open.has(id)
  }

  /** Writes that wait for a batch. */
  get size(): number {
    return this.queue.length
  }

  /** Holds that are granted and not ended. */
  get openHolds(): number {
    let holds = 0
    for (const write of this.open.values()) if (write._tag === "Hold" && write.state === "granted") holds++
    return holds
  }

  /** Accepts no further writes; `take` still returns those that are queued. */
  close(): void {
    this.isClosed = true
    for (const hold of this.turns.takeAll())
      this.refuseHold(hold, Effect.fail(ledgerUnavailable("the ledger is closed")))
  }

  /** Settlements that are not durable. */
  get unwritten(): ReadonlyArray<PendingSettlement> {
    return [...this.open.values()].filter((write) => write._tag === "Settlement")
  }

  /** `false` if the queue is closed. */
  private offer(write: PendingWrite): boolean {
    if (this.isClosed) return false
    this.queue.push(write)
    this.queued()
    return true
  }

  /** Queues a hold for the next batch. `false` if the queue is closed. */
  private enqueue(hold: PendingHold): boolean {
    if (!this.offer(hold)) return false
    this.queuedHolds++
    this.waitingHolds.add(hold)
    hold.deadline = this.clock.currentTimeMillisUnsafe() + holdTimeoutMillis
    return true
  }

  /** Whether the hold has to wait behind others of its accounts, and so not for the database. */
  private waitsForTurn(hold: PendingHold): boolean {
    if (hold.state !== "waiting" || !this.turns.joins(hold)) return false
    this.waitingHolds.delete(hold)
    return true
  }

  private abandon(hold: PendingHold): void {
    this.waitingHolds.delete(hold)
    if (hold.state !== "waiting") return
    hold.state = "abandoned"
    // In no batch, it ends here. Otherwise it ends with its batch.
    if (this.turns.leave(hold)) this.end(hold)
  }

  /** Ends a hold without a charge, with a refund if it may exist. */
  private end(hold: PendingHold): void {
    hold.state = "ended"
    this.open.delete(hold.row.id)
    if (hold.mayExist) this.settle(settlementOf(hold.row, undefined))
  }
}
