/** A hold or a settlement on its way to the database, and who waits for it. */
import { Deferred, Effect } from "effect"

import { type Picodollars, zero } from "../domain/Money.ts"
import type { HoldRow, SettlementRow } from "./BatchRows.ts"
import type { Charge } from "./Charge.ts"
import type { Refusal } from "./HoldAccounts.ts"
import type { LedgerError } from "./LedgerError.ts"

/** The hold that a request makes do with when it can get `most`; `undefined` if that pays for no answer. */
export type ReduceHold = (most: Picodollars) => Picodollars | undefined

/** How a hold is cut that may not take more than what is available. */
export interface HardCap {
  /** What it makes do with where the whole of it is not available. */
  readonly modest: Picodollars
  /** Whether it first waits for the whole, or is cut at once, so that one request does not take what pays for many. */
  readonly waits: boolean
}

export interface PendingHold {
  readonly _tag: "Hold"
  /** Has a smaller amount after the hold was cut. */
  row: HoldRow
  /** Present if the hold may wait while only other holds are in its way. */
  readonly reduce: ReduceHold | undefined
  /** Present if the balance can never go below zero. */
  readonly hardCap: HardCap | undefined
  /** Its last try: when it is refused, it does not wait any more. */
  isFinal: boolean
  /** The check of `HoldTurns` since which it has waited for other holds; zero unless it had to. */
  waitsSince: number
  /** Which account refused it, and what that had. */
  refusal: Refusal | undefined
  /** `abandoned`: its caller no longer waits. `ended`: refused, failed, or replaced by a refund. */
  state: "new" | "waiting" | "granted" | "abandoned" | "ended"
  /** The database may have stored it, although it has not answered. */
  mayExist: boolean
  /** When its caller stops waiting, in milliseconds since 1970. */
  deadline: number
  answer: (answer: Effect.Effect<boolean, LedgerError>) => void
}

export interface PendingSettlement {
  readonly _tag: "Settlement"
  /** Becomes a refund when its charge is set aside. */
  row: SettlementRow
  /** How often the database has rejected it, and why the last time. */
  rejections: number
  rejection: string
  /** Done when the settlement is durable, or when its caller has waited for long enough. */
  readonly answered: Deferred.Deferred<Settled>
  /** Once the settlement is durable: the charge that is booked. */
  booked: Settled | undefined
  /** Present if a caller did not wait until it was durable. Then done with the charge that is booked. */
  late: Deferred.Deferred<Charge> | undefined
  /** When its caller stops waiting, in milliseconds since 1970. */
  readonly deadline: number
}

export interface Settled {
  /** What the request is charged: what was asked for, or the charge of an earlier try of it. */
  readonly charge: Charge
  /** Absent once the charge is durable. Until then, it waits for the charge that is booked in the end. */
  readonly pending?: Effect.Effect<Charge>
}

export type PendingWrite = PendingHold | PendingSettlement

export const newPendingHold = (row: HoldRow, reduce?: ReduceHold, hardCap?: HardCap): PendingHold => ({
  _tag: "Hold",
  row,
  reduce,
  hardCap,
  isFinal: false,
  waitsSince: 0,
  refusal: undefined,
  state: "new",
  mayExist: false,
  deadline: 0,
  answer: () => {}
})

/** Nothing is charged for a hold that was refunded before it was settled. */
export const noCharge: Charge = { amount: zero }

/** The answer to a caller who does not wait until the settlement is durable. */
export const answeredLate = (settlement: PendingSettlement): Settled => {
  settlement.late ??= Deferred.makeUnsafe<Charge>()
  return { charge: settlement.row.charge ?? noCharge, pending: Deferred.await(settlement.late) }
}

/** For log lines: what an operator needs to book a charge by hand. */
export const describeWrite = (write: PendingWrite) => ({
  request: write.row.id,
  organization: write.row.organization,
  ...(write._tag === "Settlement" && { charge: write.row.charge?.amount.toString() ?? "refund" })
})

/** For a settlement that will never be written: an operator can book the charge by hand from the log. */
export const logUnwritten = (settlement: PendingSettlement): Effect.Effect<void> =>
  settlement.row.charge === undefined
    ? Effect.annotateLogs(Effect.logWarning("A hold was left to the sweeper"), describeWrite(settlement))
    : Effect.annotateLogs(Effect.logError("A charge could not be written and is lost"), describeWrite(settlement))
