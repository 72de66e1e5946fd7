/** What limits a hold: the balance of its organization, and the budgets of its key, project and organization. */
import type { BudgetState } from "../domain/Budget.ts"
import type { BudgetId, OrganizationId } from "../domain/Ids.ts"

/** An organization, for its balance, or a budget. */
export type AccountId = OrganizationId | BudgetId

/** An account after a statement that refused a hold. Zeros for an organization without an account. */
export interface Funds {
  /** Settled money minus open holds, in picodollars. Of a budget, what is left of it. */
  readonly available: bigint
  readonly held: bigint
}

/** Of an organization without an account. */
export const noFunds: Funds = { available: 0n, held: 0n }

/** The settled money of an account. What is held of it is not spent yet. */
export const settledMoney = ({ available, held }: Funds): bigint => available + held

/** A budget that refused a hold. */
export interface RefusingBudget extends BudgetState {
  /** The name of the project, if that is its subject. */
  readonly project?: string | undefined
}

/** Why a hold was refused. */
export interface Refusal {
  readonly account: AccountId
  readonly funds: Funds
  /** Absent if it was the balance. */
  readonly budget?: RefusingBudget
}

interface Accounted {
  readonly organization: OrganizationId
  readonly budgets?: ReadonlyArray<BudgetId>
}

/** The accounts of a hold or a settlement: first its organization. */
export const accountsOfHold = ({ budgets = [], organization }: Accounted): ReadonlyArray<AccountId> => [
  organization,
  ...budgets
]
