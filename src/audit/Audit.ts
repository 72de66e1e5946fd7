/**
 * The audit of all money, from one consistent snapshot of the database: accounts against the journal, holds against
 * whoever must end them, and every request's charge against its receipt and the price that was in force.
 *
 * It writes nothing and takes no locks, so it runs beside working gateways. A charge without a receipt is reported and
 * is no contradiction: the log may lose a receipt when a gateway is killed, and charges do not rest on it.
 */
import { Effect, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import * as Verify from "../ledger/Verify.ts"
import { type CheckName, type RequestRecords, type Finding, checkRequest } from "./RequestChecks.ts"
import { requestRecords } from "./RequestRecords.ts"

/** Findings of one check that a report keeps. All of them are counted. */
const maxFindings = 100

const snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

export interface AuditReport {
  readonly accounts: number
  /** Open at this moment. */
  readonly holds: number
  readonly receipts: number
  readonly charges: number
  /** Requests that are just ending: not all of them is stored yet. */
  readonly settling: number
  /** How often each check failed; those that never did are left out. */
  readonly counts: { readonly [C in CheckName]?: number }
  /** The first findings of each check. */
  readonly findings: ReadonlyArray<Finding>
}

/** Charges that nothing explains. */
export const unexplained = (report: AuditReport): number => report.counts.unexplained_charge ?? 0

/** Contradictions in the books. */
export const differences = (report: AuditReport): number =>
  Object.values(report.counts).reduce((sum, count) => sum + count, 0) - unexplained(report)

/** Reads everything once. Takes about as long as reading the tables does, and keeps one page of them in memory. */
export const audit: Effect.Effect<AuditReport, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.provideService(sql.withTransaction(read), SqlClient.BeginTransaction, snapshot)
}).pipe(Effect.withSpan("Audit.audit"))

const read = Effect.gen(function* () {
  const tally = new Tally()
  const accounts = yield* Verify.verifyAccounts
  tally.count("account", accounts.differing)
  tally.findings.push(...accounts.rows.map(driftFinding))
  const holds = yield* Verify.verifyHolds
  tally.count("stray_hold", holds.differing)
  tally.findings.push(...holds.rows.map(strayFinding))
  yield* Stream.runForEachArray(requestRecords, (page) =>
    Effect.sync(() => page.forEach((evidence) => tally.add(evidence)))
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

  add(evidence: RequestRecords): void {
    if (evidence.receipt !== "none") this.receipts++
    this.charges += evidence.charges.length
    if (evidence.settling) this.settling++
    for (const finding of checkRequest(evidence)) {
      if (this.count(finding.check, 1) <= maxFindings) this.findings.push(finding)
    }
  }

  /** Answers how often this check has failed so far. */
  count(check: CheckName, times: number): number {
    const total = (this.counts[check] ?? 0) + times
    if (total > 0) this.counts[check] = total
    return total
  }
}

const driftFinding = ({ balance, entries, held, holds, organization }: Verify.Drift): Finding => ({
  check: "account",
  organization,
  expected: `entries ${entries}, open holds ${holds}`,
  found: `balance + held ${balance + held}, held ${held}`
})

const strayFinding = ({ amount, organization, request }: Verify.StrayHold): Finding => ({
  check: "stray_hold",
  organization,
  request,
  found: String(amount)
})
