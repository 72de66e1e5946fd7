/** What the statement that keeps budgets is sent, beside the parameters of every batch, and what it answers. */
import { budgetLeft, type BudgetPeriod, type BudgetState, type BudgetSubject } from "../domain/Budget.ts"
import { budgetId } from "../domain/Ids.ts"
import { picodollars } from "../domain/Money.ts"
import type { Batch } from "./BatchRows.ts"
import {
  type AccountId,
  accountsOfHold,
  type Funds,
  noFunds,
  type Refusal,
  type RefusingBudget
} from "./HoldAccounts.ts"
import { listParameter } from "./MoneySql.ts"

/** `nowMillis` decides which period it is. `base` are the parameters of the statement without budgets. */
export const budgetParameters = (
  { holds, settlements }: Batch,
  base: ReadonlyArray<string>,
  nowMillis: number
): ReadonlyArray<string> => {
  const accounts = accountsOf({ holds })
  const taking = holds.flatMap(({ amount, budgets = [], id }) => budgets.map((budget) => ({ id, budget, amount })))
  const charging = settlements.flatMap(({ budgets = [], charge, id }) =>
    budgets.map((budget) => ({ id, budget, charge: charge?.amount ?? "NULL" }))
  )
  let end = 0
  return [
    ...base,
    String(nowMillis),
    listParameter([...accounts.keys()]),
    listParameter(holds.flatMap((hold) => accountsOfHold(hold).map((id) => `${accounts.get(id)}`))),
    listParameter(holds.map((hold) => `${(end += accountsOfHold(hold).length)}`)),
    listParameter(taking.map(({ id }) => id)),
    listParameter(taking.map(({ budget }) => budget)),
    listParameter(taking.map(({ amount }) => amount)),
    listParameter(charging.map(({ id }) => id)),
    listParameter(charging.map(({ budget }) => budget)),
    listParameter(charging.map(({ charge }) => charge))
  ]
}

/** The accounts of all holds, with their indexes as PostgreSQL counts. */
const accountsOf = ({ holds }: Pick<Batch, "holds">): ReadonlyMap<AccountId, number> =>
  new Map([...new Set(holds.flatMap(accountsOfHold))].map((id, index) => [id, index + 1]))

/** A budget as the statement writes it. */
interface BudgetJson {
  readonly id: string
  readonly subject: BudgetSubject
  readonly period: BudgetPeriod
  readonly timeZone: string
  readonly amount: string
  readonly spent: string
  readonly held: string
  readonly renewsAtMillis: number | null
  readonly project: string | null
}

/** Reads the budgets that refused a hold. */
export const refusingBudgets = (json: string | null | undefined): ReadonlyMap<AccountId, RefusingBudget> =>
  new Map(
    ((typeof json === "string" ? JSON.parse(json) : []) as ReadonlyArray<BudgetJson>).map((row) => [
      budgetId(row.id),
      {
        id: budgetId(row.id),
        subject: row.subject,
        period: row.period,
        timeZone: row.timeZone,
        amount: picodollars(BigInt(row.amount)),
        spent: picodollars(BigInt(row.spent)),
        held: picodollars(BigInt(row.held)),
        renewsAtMillis: row.renewsAtMillis ?? undefined,
        project: row.project ?? undefined
      }
    ])
  )

/** Reads which holds were refused by which account: `position account`, separated by commas. */
export const refusalsOf = (
  holds: Batch["holds"],
  refused: string,
  funds: ReadonlyMap<AccountId, Funds>,
  budgets: ReadonlyMap<AccountId, RefusingBudget>
): ReadonlyMap<number, Refusal> => {
  const accounts = [...accountsOf({ holds }).keys()]
  const refusals = refused.split(",").flatMap((pair): ReadonlyArray<readonly [number, Refusal]> => {
    const [position = 0, place = 0] = pair.split(" ").map(Number)
    const account = accounts[place - 1]
    if (account === undefined) return []
    const budget = budgets.get(account)
    return [
      [
        position - 1,
        budget === undefined
          ? { account, funds: funds.get(account) ?? noFunds }
          : { account, funds: fundsOfBudget(budget), budget }
      ]
    ]
  })
  return new Map(refusals)
}

/** A budget as an account: what is left of it, and what is held of it. */
const fundsOfBudget = (budget: BudgetState): Funds => ({ available: budgetLeft(budget), held: budget.held })
