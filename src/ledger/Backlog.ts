/**
 * Holds and settlements that are not in the database yet, and what becomes of their callers.
 *
 * The rule: a hold is either answered to a caller who is still there, or released. A settlement leaves the backlog only
 * when it is durable. All of this happens between two steps of the event loop, so no fiber sees a half-done change.
 */
import { type Cause, type Clock, Deferred, Duration, Effect, Queue } from "effect"

import type { RequestId } from "../domain/Ids.ts"
import type { HoldRow, SettlementRow } from "./BatchStatement.ts"
import { type LedgerError, ledgerUnavailable } from "./LedgerError.ts"

/** Writes in one batch. */
const maxBatch = 500
/** Holds that may wait for a batch; further ones fail at once. Settlements are at most as many as there were holds. */
const maxQueuedHolds = 10_000
const holdPatienceMillis = Duration.toMillis("5 seconds")
const settlementPatienceMillis = Duration.toMillis("1 second")

export interface PendingHold {
  readonly _tag: "Hold"
  readonly row: HoldRow
  /** `left`: its caller no longer waits. `over`: refused, failed, or handed to a refund. */
  state: "new" | "waiting" | "granted" | "left" | "over"
  /** For all we know it is in the database. */
  mayExist: boolean
  /** Milliseconds since the epoch. */
  deadline: number
  answer: (answer: Effect.Effect<boolean, LedgerError>) => void
}

export interface PendingSettlement {
  readonly _tag: "Settlement"
  readonly row: SettlementRow
  /** Done when it is durable, or when its caller has waited long enough. */
  readonly acknowledged: Deferred.Deferred<void>
  readonly deadline: number
}

export type Pending = PendingHold | PendingSettlement

export const newHold = (row: HoldRow): PendingHold => ({
  _tag: "Hold",
  row,
  state: "new",
  mayExist: false,
  deadline: 0,
  answer: () => {}
})

/** What an operator needs to book a charge by hand. */
export const describe = (pending: Pending) => ({
  request: pending.row.id,
  organization: pending.row.organization,
  ...(pending._tag === "Settlement" && { charge: pending.row.charge?.toString() ?? "refund" })
})

export class Backlog {
  private readonly clock: Clock.Clock
  private readonly queue: Queue.Queue<Pending, Cause.Done>
  private queuedHolds = 0
  /** Everything this process still has to do with, by request: its open holds and its unwritten settlements. */
  private readonly known = new Map<RequestId, Pending>()
  /** Callers who wait, longest first, as patience is the same for all. */
  private readonly waitingHolds = new Set<PendingHold>()
  private readonly waitingSettlements = new Set<PendingSettlement>()

  constructor(clock: Clock.Clock, queue: Queue.Queue<Pending, Cause.Done>) {
    this.clock = clock
    this.queue = queue
  }

  /** Whether the hold was granted. Interruption is safe: a hold that nobody waits for is released. */
  hold(hold: PendingHold): Effect.Effect<boolean, LedgerError> {
    return Effect.callback((resume) => {
      if (this.queuedHolds >= maxQueuedHolds) return resume(Effect.fail(ledgerUnavailable("too many holds wait")))
      if (!Queue.offerUnsafe(this.queue, hold)) return resume(Effect.fail(ledgerUnavailable("the ledger is closed")))
      this.queuedHolds++
      this.known.set(hold.row.id, hold)
      this.waitingHolds.add(hold)
      hold.state = "waiting"
      hold.deadline = this.clock.currentTimeMillisUnsafe() + holdPatienceMillis
      hold.answer = resume
      return Effect.sync(() => this.leave(hold))
    })
  }

  /** Takes a settlement in, for good. */
  settle(row: SettlementRow): PendingSettlement {
    const deadline = this.clock.currentTimeMillisUnsafe() + settlementPatienceMillis
    const settlement: PendingSettlement = { _tag: "Settlement", row, acknowledged: Deferred.makeUnsafe(), deadline }
    this.known.set(row.id, settlement)
    if (Queue.offerUnsafe(this.queue, settlement)) this.waitingSettlements.add(settlement)
    else Deferred.doneUnsafe(settlement.acknowledged, logLost(settlement))
    return settlement
  }

  /** Offers a settlement again that could not be written. */
  again(settlement: PendingSettlement): void {
    Queue.offerUnsafe(this.queue, settlement)
  }

  /** Waits for something to write, and takes all there is, up to a batch. Done when closed and empty. */
  readonly take = (): Effect.Effect<ReadonlyArray<Pending>, Cause.Done> =>
    Effect.map(Queue.takeBetween(this.queue, 1, maxBatch), (batch) => {
      for (const pending of batch) if (pending._tag === "Hold") this.queuedHolds--
      return batch
    })

  /** Whether there is a point in writing it. A hold whose caller left is released here, if it may exist. */
  isWanted(pending: Pending): boolean {
    if (pending._tag === "Settlement" || pending.state === "waiting") return true
    if (pending.state === "left") this.drop(pending)
    return false
  }

  /** The database's answer to a hold. */
  answer(hold: PendingHold, granted: boolean): void {
    if (granted && hold.state === "waiting") {
      this.waitingHolds.delete(hold)
      hold.state = "granted"
      hold.answer(Effect.succeed(true))
    } else {
      hold.mayExist ||= granted
      this.refuse(hold, Effect.succeed(false))
    }
  }

  refuse(hold: PendingHold, answer: Effect.Effect<false, LedgerError>): void {
    this.waitingHolds.delete(hold)
    this.drop(hold)
    hold.answer(answer)
  }

  /** A settlement is in the database. */
  durable(settlement: PendingSettlement): void {
    this.waitingSettlements.delete(settlement)
    this.known.delete(settlement.row.id)
    Deferred.doneUnsafe(settlement.acknowledged, Effect.void)
  }

  /** Lets those go who have waited long enough. Their settlements stay; their holds are dropped. */
  readonly losePatience: Effect.Effect<void> = Effect.sync(() => {
    const now = this.clock.currentTimeMillisUnsafe()
    for (const hold of this.waitingHolds) {
      if (hold.deadline > now) break
      this.leave(hold)
      hold.answer(Effect.fail(ledgerUnavailable("the database does not answer")))
    }
    for (const settlement of this.waitingSettlements) {
      if (settlement.deadline > now) break
      this.waitingSettlements.delete(settlement)
      Deferred.doneUnsafe(settlement.acknowledged, Effect.void)
    }
  })

  knows(id: RequestId): boolean {
    return this.known.has(id)
  }

  get size(): number {
    return Queue.sizeUnsafe(this.queue)
  }

  /** Takes nothing more in; `take` goes on until all is out. */
  close(): void {
    Queue.endUnsafe(this.queue)
  }

  /** What never became durable. */
  get unwritten(): ReadonlyArray<PendingSettlement> {
    return [...this.known.values()].filter((pending) => pending._tag === "Settlement")
  }

  private leave(hold: PendingHold): void {
    this.waitingHolds.delete(hold)
    if (hold.state === "waiting") hold.state = "left"
  }

  private drop(hold: PendingHold): void {
    hold.state = "over"
    this.known.delete(hold.row.id)
    if (hold.mayExist) this.settle({ id: hold.row.id, organization: hold.row.organization, charge: undefined })
  }
}

/** The last resort: a charge that was not written can be booked by hand from the log. */
export const logLost = (settlement: PendingSettlement): Effect.Effect<void> =>
  settlement.row.charge === undefined
    ? Effect.logWarning("A hold was left to the sweeper", describe(settlement))
    : Effect.logError("A charge could not be written and is lost", describe(settlement))
