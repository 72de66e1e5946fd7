/**
 * The audit of all money, from one consistent snapshot of the database: accounts against their entries, holds against
 * the gateways that must end them, and every charge against what it was computed from, its receipt, and the price that
 * was in force.
 *
 * It writes nothing and takes no locks, so it can run while gateways work. A charge of an earlier version that has
 * neither facts nor a receipt is reported but does not count as a difference: a gateway of such a version that was
 * killed may have lost a receipt, and no charge depended on one.
 */
import { Effect, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import {
  type AccountMismatch,
  type BudgetMismatch,
  checkAccounts,
  checkBudgets,
  checkHolds,
  type StrayHold
} from "../ledger/LedgerChecks.ts"
import { checkRejectedCharges, type RejectedCharge } from "../ledger/RejectedCharges.ts"
import { type CheckName, type RequestRecords, type Finding, checkRequest } from "./RequestChecks.ts"
import { requestRecords } from "./RequestRecords.ts"

/** Findings of one check that a report lists. All of them are counted. */
const maxFindings = 100

const snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

/** Printed as JSON by `tollgate ledger verify --json`, so its names must not change. */
export interface AuditReport {
  readonly accounts: number
  /** The number of holds that were open at the moment of the snapshot. */
  readonly holds: number
  readonly receipts: number
  readonly charges: number
  /** Requests that have just ended while a gateway was running, of which not everything may be stored yet. */
  readonly settling: number
  /** How often each check failed. Checks that never failed are left out. */
  readonly counts: { readonly [C in CheckName]?: number }
  /** The first findings of each check. */
  readonly findings: ReadonlyArray<Finding>
}

/** The number of charges without a receipt. */
export const unexplainedCharges = (report: AuditReport): number => report.counts.unexplained_charge ?? 0

/** The number of contradictions in the books. */
export const differences = (report: AuditReport): number =>
  Object.values(report.counts).reduce((sum, count) => sum + count, 0) - unexplainedCharges(report)

/**
 * Reads everything once: it takes as long as reading the tables does, and the memory of one page of them. `onChecked`
 * is called after each page, with the number of requests in it.
 */
export const auditReporting = (
  onChecked: (requests: number) => Effect.Effect<void>
): Effect.Effect<AuditReport, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.provideService(sql.withTransaction(runChecks(onChecked)), SqlClient.BeginTransaction, snapshot)
  ).pipe(Effect.withSpan("Audit.audit"))

/** The same in silence. */
export const audit = auditReporting(() => Effect.void)

const runChecks = Effect.fnUntraced(function* (onChecked: (requests: number) => Effect.Effect<void>) {
  const tally = new Tally()
  const accounts = yield* checkAccounts
  tally.count("account", accounts.failed)
  tally.findings.push(...accounts.rows.map(mismatchFinding))
  const holds = yield* checkHolds
  tally.count("stray_hold", holds.failed)
  tally.findings.push(...holds.rows.map(strayHoldFinding))
  const budgets = yield* checkBudgets
  tally.count("budget", budgets.failed)
  tally.findings.push(...budgets.rows.map(budgetFinding))
  const rejected = yield* checkRejectedCharges
  tally.count("rejected_charge", rejected.failed)
  tally.findings.push(...rejected.rows.map(rejectedChargeFinding))
  yield* Stream.runForEachArray(requestRecords, (page) =>
    Effect.suspend(() => {
      page.forEach((records) => tally.add(records))
      return onChecked(page.length)
    })
  )
  const { charges, counts, findings, receipts, settling } = tally
  return { accounts: accounts.checked, holds: holds.checked, receipts, charges, settling, counts, findings }
})

class Tally {
  receipts = 0
  charges = 0
  settling = 0
  readonly counts: { [C in CheckName]?: number } = {}
  readonly findings: Array<Finding> = []

  add(records: RequestRecords): void {
    if (records.receipt !== "none") this.receipts++
    this.charges += records.charges.length
    if (records.settling) this.settling++
    for (const finding of checkRequest(records)) {
      if (this.count(finding.check, 1) <= maxFindings) this.findings.push(finding)
    }
  }

  /** Returns how often this check has failed so far. */
  count(check: CheckName, times: number): number {
    const total = (this.counts[check] ?? 0) + times
    if (total > 0) this.counts[check] = total
    return total
  }
}

const mismatchFinding = ({ balance, entries, held, holds, organization }: AccountMismatch): Finding => ({
  check: "account",
  organization,
  expected: `entries ${entries}, open holds ${holds}`,
  found: `balance + held ${balance + held}, held ${held}`
})

const strayHoldFinding = ({ amount, organization, request }: StrayHold): Finding => ({
  check: "stray_hold",
  organization,
  request,
  found: String(amount)
})

const budgetFinding = ({ budget, held, holds, organization, spent }: BudgetMismatch): Finding => ({
  check: "budget",
  organization,
  expected: `open holds ${holds}`,
  found: `budget ${budget}, held ${held}, spent ${spent}`
})

const rejectedChargeFinding = ({ amount, organization, reason, request }: RejectedCharge): Finding => ({
  check: "rejected_charge",
  organization,
  request,
  expected: String(amount),
  found: reason
})
