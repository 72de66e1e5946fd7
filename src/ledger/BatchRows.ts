/** What a batch writes: holds, and their ends. */
import type { BudgetId, OrganizationId, RequestId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { Charge } from "./Charge.ts"

export interface HoldRow {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
  /**
   * The lowest balance that the hold may leave, in picodollars. Without it, the hold is granted on any positive
   * balance, whatever it leaves.
   */
  readonly least?: bigint
  /** Whether its charge is cut where it would take the balance below zero. */
  readonly isCapped?: boolean
  /** The budgets that limit it as well, by the same rule. Absent where there are none. */
  readonly budgets?: ReadonlyArray<BudgetId>
}

export interface SettlementRow {
  readonly id: RequestId
  readonly organization: OrganizationId
  /** `undefined` is a refund: the hold is released and nothing is booked. */
  readonly charge: Charge | undefined
  /** Whether the charge is cut where it would take the balance below zero. */
  readonly isCapped?: boolean
  /** The budgets of its hold. Absent where there were none. */
  readonly budgets?: ReadonlyArray<BudgetId>
}

export interface Batch {
  /** The id under which the holds are stored. */
  readonly gateway: string
  readonly settlements: ReadonlyArray<SettlementRow>
  readonly holds: ReadonlyArray<HoldRow>
}

/** The end of a hold, with a charge or without. */
export const settlementOf = (
  { budgets, id, isCapped, organization }: HoldRow,
  charge: Charge | undefined
): SettlementRow => ({
  id,
  organization,
  charge,
  ...(isCapped === true && { isCapped }),
  ...(budgets && { budgets })
})
