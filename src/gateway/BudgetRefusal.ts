/** The error of a request that a budget refuses: which budget it is, what is spent of it, and when it renews. */
import { DateTime } from "effect"

import { BudgetExceeded } from "../api/Errors.ts"
import { type BudgetPeriod, budgetLeft } from "../domain/Budget.ts"
import { picodollars, toUsd } from "../domain/Money.ts"
import type { RefusingBudget } from "../ledger/HoldAccounts.ts"

const periodNames: { readonly [Period in BudgetPeriod]: string } = {
  day: "daily",
  week: "weekly",
  month: "monthly",
  total: "total"
}

/**
 * A budget of which others hold the rest is free again when those requests end; that is not when it renews. With
 * `isTooLittle`, that would not pay for the request either.
 */
export const budgetRefusal = (budget: RefusingBudget, isTooLittle = false): BudgetExceeded => {
  const isSpent = budget.spent >= budget.amount
  const text = `${nameOf(budget)} does not allow this request: ${usd(budget.spent)} USD are spent`
  if (!isSpent) return BudgetExceeded.of(`${text}, and ${heldText(budget, isTooLittle)}. ${renewalText(budget)}`)
  return BudgetExceeded.of(`${text}. ${renewalText(budget)}`, { renewsAtMillis: budget.renewsAtMillis })
}

const nameOf = (budget: RefusingBudget): string =>
  `The ${periodNames[budget.period]} budget of ${ownerOf(budget)} (${usd(budget.amount)} USD, ${budget.timeZone})`

const ownerOf = ({ project, subject }: RefusingBudget): string => {
  switch (subject) {
    case "api_key":
      return "this API key"
    case "project":
      return project === undefined ? "the project" : `the project "${project}"`
    case "organization":
      return "the organization"
  }
}

const heldText = (budget: RefusingBudget, isTooLittle: boolean): string => {
  if (isTooLittle) return `the ${usd(budget.amount - budget.spent)} USD that are left cannot pay for it`
  return budgetLeft(budget) > 0n
    ? `the ${usd(budgetLeft(budget))} USD that are left may not pay for it`
    : `${usd(budget.held)} USD are held for other requests until those end; try again then`
}

const renewalText = ({ renewsAtMillis, timeZone }: RefusingBudget): string =>
  renewsAtMillis === undefined ? "It does not renew" : `It renews at ${isoTime(renewsAtMillis, timeZone)}`

const isoTime = (millis: number, timeZone: string): string =>
  DateTime.formatIsoZoned(DateTime.makeZonedUnsafe(millis, { timeZone }))

const usd = (amount: bigint): string => toUsd(picodollars(amount))
