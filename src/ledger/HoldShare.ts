/** How much of what is left a hold takes that may not leave less than zero. */
import { max, min, picodollars } from "../domain/Money.ts"
import { type Funds, settledMoney } from "./HoldAccounts.ts"
import type { PendingHold } from "./PendingWrite.ts"

/** The part of the available credit that a hold may have at least, however many others there are. */
const share = 8n

/** Whether a hold that may not leave less than zero costs more than all the money of the account, whoever holds it. */
export const isTooDear = ({ hardCap, reduce, row }: PendingHold, funds: Funds): boolean => {
  const settled = picodollars(settledMoney(funds))
  return hardCap !== undefined && row.amount > settled && reduce?.(settled) === undefined
}

/**
 * Cuts a hold that was refused by an account with these funds and may not leave less than zero: where the whole of it
 * is not available and it makes do with less, or where all that is settled would not pay for it, so that waiting is in
 * vain. `false` if it can be paid in no way. Other holds stay as they are.
 */
export const sharesCredit = (hold: PendingHold, funds: Funds): boolean => {
  const { hardCap, reduce, row } = hold
  if (hardCap === undefined || reduce === undefined) return true
  const { modest, waits } = hardCap
  const settled = settledMoney(funds)
  if (row.amount <= (waits || row.amount <= modest ? settled : funds.available)) return true
  const fair = picodollars(funds.available / share)
  const amount = reduce(min(row.amount, min(max(fair, modest), picodollars(settled))))
  if (amount === undefined) return false
  hold.row = { ...row, amount }
  return true
}
