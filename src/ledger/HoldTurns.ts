/**
 * Holds that an account refused only because other holds are in the way: an organization's balance, or a budget. Each
 * account has a line of them, in order of arrival. The first of a line is tried again whenever a hold of the account
 * ends here, and at short intervals, because holds of other gateways end as well. A new hold waits behind those that
 * are there, so one that has budgets passes their lines first, in order, and that of its organization last.
 *
 * The rule: nobody waits for ever, and nobody is overtaken. A hold whose time is up is cut to what its accounts can
 * still pay; if that pays for no answer, it is refused.
 */
import { min, type Picodollars, picodollars } from "../domain/Money.ts"
import type { SettlementRow } from "./BatchRows.ts"
import { type AccountId, accountsOfHold, type Funds, type Refusal, settledMoney } from "./HoldAccounts.ts"
import { sharesCredit } from "./HoldShare.ts"
import type { PendingHold } from "./PendingWrite.ts"

/*
 * Waits are counted in checks, of which there are four a second, and not in time: a process that was suspended, or is
 * very slow, then lets nobody's time run out before holds that ended meanwhile were seen.
 */
/**
 * How long a hold waits while no hold of its account ends: five seconds. Most answers, though not the longest, are
 * complete after that.
 */
const idleChecks = 20
/** How long it waits at most, while others end: half a minute, because a client may wait no longer for an answer. */
const longestChecks = 120
/** The most holds of one account that wait, and of all together. Further ones are refused. */
const maxLine = 1_000
const maxWaiting = 10_000

/** The holds of one account that wait, in order of arrival. A hold is in one line at a time. */
interface Line {
  readonly holds: Set<PendingHold>
  /** The hold that is being tried. It keeps its place until the database has answered. */
  trying: PendingHold | undefined
  /** A hold ended while another was tried, so its answer may be out of date. */
  isStale: boolean
  /** As of the last refusal, with what was granted here since. */
  refusal: Refusal
  /** The check before which a hold of the account ended last, as far as is known here. */
  progressAt: number
}

/** How a hold leaves the line. */
export interface TurnActions {
  /** Writes the hold. */
  readonly attempt: (hold: PendingHold) => void
  readonly refuse: (hold: PendingHold, refusal: Refusal) => void
}

export class HoldTurns {
  private readonly actions: TurnActions
  private readonly lines = new Map<AccountId, Line>()
  private readonly lineOf = new Map<PendingHold, Line>()
  private checks = 0

  constructor(actions: TurnActions) {
    this.actions = actions
  }

  /** True when nobody waits, as almost always. */
  get isEmpty(): boolean {
    return this.lineOf.size === 0
  }

  /** Whether the hold, which was not written yet, has to wait behind others. Then it does. */
  joins(hold: PendingHold): boolean {
    if (this.isEmpty || hold.reduce === undefined || hold.isFinal || this.lineOf.has(hold)) return false
    const line = this.nextLine(hold)
    if (line === undefined) return false
    hold.waitsSince = this.checks
    if (!this.add(line, hold)) this.actions.refuse(hold, line.refusal)
    return true
  }

  /** The hold was refused. Whether it waits, and is answered later; a hold that cannot wait is to be refused. */
  keeps(hold: PendingHold, refusal: Refusal): boolean {
    const waited = this.lineOf.get(hold)
    const known = this.lines.get(refusal.account)
    if (settledMoney(refusal.funds) <= 0n) {
      if (known !== undefined) this.refuseAll(known, refusal)
      if (waited !== known) this.leave(hold)
      return false
    }
    if (known !== undefined) this.update(known, refusal)
    if (hold.reduce === undefined || hold.isFinal || !sharesCredit(hold, refusal.funds)) return false
    const line = known ?? { holds: new Set(), trying: undefined, isStale: false, refusal, progressAt: this.checks }
    // A hold that was cut may be paid at once, and one of a batch may have been refused for those before it.
    const isPaid = hold.hardCap !== undefined && hold.row.amount <= refusal.funds.available
    if (waited === line) {
      line.trying = undefined
      if (line.isStale || isPaid) this.tryFirst(line)
      return true
    }
    // It keeps the time for which it has waited in another line.
    if (waited === undefined) hold.waitsSince = this.checks
    else this.leave(hold)
    if (!this.add(line, hold)) return false
    if (isPaid && line.trying === undefined) this.tryFirst(line)
    return true
  }

  /** The hold was granted. It may have waited. */
  granted(hold: PendingHold): void {
    if (this.isEmpty || hold.isFinal) return
    for (const line of this.linesOf(hold)) line.refusal = reduced(line.refusal, hold.row.amount)
    const waited = this.lineOf.get(hold)
    if (waited === undefined) return
    waited.progressAt = this.checks
    this.leave(hold)
  }

  /** The hold no longer waits. Whether it waited and is not being tried. */
  leave(hold: PendingHold): boolean {
    const line = this.lineOf.get(hold)
    if (line === undefined) return false
    this.delete(line, hold)
    if (line.trying !== hold) return true
    line.trying = undefined
    this.tryFirst(line)
    return false
  }

  /** A hold has ended here. */
  released(row: Pick<SettlementRow, "organization" | "budgets">): void {
    if (this.isEmpty) return
    for (const account of accountsOfHold(row)) {
      const line = this.lines.get(account)
      if (line === undefined) continue
      line.progressAt = this.checks
      if (line.trying === undefined) this.tryFirst(line)
      else line.isStale = true
    }
  }

  /** Lets go those whose time is up, and tries the others again. */
  check(): void {
    this.checks++
    for (const line of this.lines.values()) {
      // Nobody's time is up before the database has answered; that has a deadline of its own.
      if (line.trying !== undefined) continue
      const [first] = line.holds
      for (const hold of line.holds) if (this.isOver(hold, line)) this.finish(line, hold, hold === first)
      this.tryFirst(line)
    }
  }

  /** All that wait, which are then forgotten. */
  takeAll(): ReadonlyArray<PendingHold> {
    const all = [...this.lineOf.keys()]
    this.lines.clear()
    this.lineOf.clear()
    return all
  }

  /** The lines of all accounts of a hold, that of its organization last. */
  private linesOf(hold: PendingHold): ReadonlyArray<Line> {
    return accountsOfHold(hold.row)
      .toReversed()
      .flatMap((account) => this.lines.get(account) ?? [])
  }

  /** The first line in which it has to wait, or the one after that in which it is. */
  private nextLine(hold: PendingHold): Line | undefined {
    const lines = this.linesOf(hold)
    const current = this.lineOf.get(hold)
    return lines[current === undefined ? 0 : lines.indexOf(current) + 1]
  }

  private add(line: Line, hold: PendingHold): boolean {
    if (line.holds.size >= maxLine || this.lineOf.size >= maxWaiting) return false
    line.holds.add(hold)
    this.lines.set(line.refusal.account, line)
    this.lineOf.set(hold, line)
    return true
  }

  private delete(line: Line, hold: PendingHold): void {
    line.holds.delete(hold)
    this.lineOf.delete(hold)
    if (line.holds.size === 0) this.lines.delete(line.refusal.account)
  }

  private update(line: Line, refusal: Refusal): void {
    const { available, held } = line.refusal.funds
    if (available !== refusal.funds.available || held !== refusal.funds.held) line.progressAt = this.checks
    line.refusal = refusal
  }

  /** Tries the first hold of a line, unless it has to wait in a further one. */
  private tryFirst(line: Line): void {
    line.isStale = false
    for (const first of line.holds) {
      const next = this.nextLine(first)
      if (next === undefined) {
        line.trying = first
        return this.actions.attempt(first)
      }
      this.delete(line, first)
      if (!this.add(next, first)) this.actions.refuse(first, next.refusal)
    }
  }

  private refuseAll(line: Line, refusal: Refusal): void {
    for (const hold of line.holds) {
      if (hold === line.trying) continue
      this.delete(line, hold)
      this.actions.refuse(hold, refusal)
    }
  }

  private isOver({ waitsSince }: PendingHold, { progressAt }: Line): boolean {
    return this.checks >= Math.max(waitsSince, progressAt) + idleChecks || this.checks >= waitsSince + longestChecks
  }

  /**
   * The last try, with what the accounts can still pay, as far as that is known here. One that was not the first has
   * not been tried since others came before it: where it cannot be cut, that is its whole amount.
   */
  private finish(line: Line, hold: PendingHold, isFirst: boolean): void {
    const lines = this.linesOf(hold)
    this.delete(line, hold)
    const isCapped = hold.hardCap !== undefined
    const most = lines.map(({ refusal }) => affordable(hold, refusal.funds)).reduce(min)
    const amount = most > 0n ? hold.reduce?.(most) : undefined
    if (amount === undefined && isFirst) return this.actions.refuse(hold, line.refusal)
    hold.isFinal = true
    if (amount === undefined) return this.actions.attempt(hold)
    for (const each of lines) each.refusal = reduced(each.refusal, amount)
    hold.row = { ...hold.row, amount, ...(!isCapped && { least: 1n - hold.row.amount }) }
    this.actions.attempt(hold)
  }
}

/**
 * What a hold may be cut to. However large, one whole hold may overdraw an account; of that, this is what the others
 * have left, and never more than the money that is settled. So the holds still exceed the credit by less than one hold.
 * With a hard cap it is what is available.
 */
const affordable = ({ hardCap, row: { amount } }: PendingHold, funds: Funds): Picodollars =>
  hardCap === undefined
    ? picodollars(min(picodollars(amount + funds.available), picodollars(settledMoney(funds))) - 1n)
    : min(amount, picodollars(funds.available))

const reduced = ({ funds: { available, held }, ...refusal }: Refusal, amount: Picodollars): Refusal => ({
  ...refusal,
  funds: { available: available - amount, held: held + amount }
})
