/** Budgets: how much of its credit an organization lets a key, a project or itself spend in a period. */
import type { BudgetId } from "./Ids.ts"
import type { Picodollars } from "./Money.ts"

/** What a budget limits. */
export const budgetSubjects = ["organization", "project", "api_key"] as const
export type BudgetSubject = (typeof budgetSubjects)[number]

/** How long it lasts, in its time zone. Weeks begin on Monday; a total is never renewed. */
export const budgetPeriods = ["day", "week", "month", "total"] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

/** A budget in its current period. */
export interface BudgetState {
  readonly id: BudgetId
  readonly subject: BudgetSubject
  readonly period: BudgetPeriod
  /** An IANA name. */
  readonly timeZone: string
  readonly amount: Picodollars
  /** What settled requests cost. */
  readonly spent: Picodollars
  /** What is held for requests that are under way. */
  readonly held: Picodollars
  /** Absent for a total. */
  readonly renewsAtMillis?: number | undefined
}

/** What is left of a budget: negative if it was passed. */
export const budgetLeft = ({ amount, held, spent }: BudgetState): bigint => amount - spent - held
