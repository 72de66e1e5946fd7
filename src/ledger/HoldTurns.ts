/**
 * Holds that found no credit only because other holds of their organization are in the way, each organization's in
 * order of arrival. The first of them is tried again whenever a hold of the organization ends here, and at short
 * intervals, because holds of other gateways end as well. A new hold of the organization waits behind those that are
 * there.
 *
 * The rule: nobody waits for ever, and nobody is overtaken. A hold whose time is up is cut to what the organization can
 * still pay; if that pays for no answer, it is refused.
 */
import type { OrganizationId } from "../domain/Ids.ts"
import { min, type Picodollars, picodollars } from "../domain/Money.ts"
import type { Funds } from "./BatchStatement.ts"
import type { PendingHold } from "./PendingWrite.ts"

/*
 * Waits are counted in checks, of which there are four a second, and not in time: a process that was suspended, or is
 * very slow, then lets nobody's time run out before holds that ended meanwhile were seen.
 */
/**
 * How long a hold waits while no hold of its organization ends: five seconds. Most answers, though not the longest, are
 * complete after that.
 */
const idleChecks = 20
/** How long it waits at most, while others end: half a minute, because a client may wait no longer for an answer. */
const longestChecks = 120
/** The most holds of one organization that wait, and of all together. Further ones are refused. */
const maxLine = 1_000
const maxWaiting = 10_000

/** The holds of one organization that wait, in order of arrival. */
interface Line {
  readonly holds: Set<PendingHold>
  /** The hold that is being tried. It keeps its place until the database has answered. */
  trying: PendingHold | undefined
  /** A hold ended while another was tried, so its answer may be out of date. */
  isStale: boolean
  /** As of the last refusal, with what was granted here since. */
  funds: Funds
  /** The check before which a hold of the organization ended last, as far as is known here. */
  progressAt: number
}

/** How a hold leaves the line. */
export interface TurnActions {
  /** Writes the hold. */
  readonly attempt: (hold: PendingHold) => void
  readonly refuse: (hold: PendingHold, funds: Funds) => void
}

/** The settled money of an organization. What is held of it is not spent yet. */
export const settledMoney = ({ available, held }: Funds): bigint => available + held

export class HoldTurns {
  private readonly actions: TurnActions
  private readonly lines = new Map<OrganizationId, Line>()
  private waiting = 0
  private checks = 0

  constructor(actions: TurnActions) {
    this.actions = actions
  }

  /** True when nobody waits, as almost always. */
  get isEmpty(): boolean {
    return this.waiting === 0
  }

  /** Whether the hold, which was not written yet, has to wait behind others. Then it does. */
  joins(hold: PendingHold): boolean {
    if (this.isEmpty || hold.reduce === undefined || hold.isFinal) return false
    const line = this.lines.get(hold.row.organization)
    if (line === undefined || line.trying === hold) return false
    if (!this.add(line, hold)) this.actions.refuse(hold, line.funds)
    return true
  }

  /** The hold was refused. Whether it waits, and is answered later; a hold that cannot wait is to be refused. */
  keeps(hold: PendingHold, funds: Funds): boolean {
    const { organization } = hold.row
    const known = this.lines.get(organization)
    if (settledMoney(funds) <= 0n) {
      if (known !== undefined) this.refuseAll(known, funds)
      return false
    }
    if (known !== undefined) this.update(known, funds)
    if (hold.reduce === undefined || hold.isFinal) return false
    const line = known ?? { holds: new Set(), trying: undefined, isStale: false, funds, progressAt: this.checks }
    if (line.trying !== hold) return this.add(line, hold)
    line.trying = undefined
    if (line.isStale) this.tryFirst(line)
    return true
  }

  /** The hold was granted. It may have waited. */
  granted(hold: PendingHold): void {
    const line = this.lineOf(hold.row.organization)
    if (line === undefined || hold.isFinal) return
    line.funds = reduced(line.funds, hold.row.amount)
    if (line.trying !== hold) return
    line.trying = undefined
    line.progressAt = this.checks
    this.delete(line, hold)
    this.tryFirst(line)
  }

  /** The hold no longer waits. Whether it waited and is not being tried. */
  leave(hold: PendingHold): boolean {
    const line = this.lineOf(hold.row.organization)
    if (line?.holds.has(hold) !== true) return false
    const isTried = line.trying === hold
    if (isTried) line.trying = undefined
    this.delete(line, hold)
    return !isTried
  }

  /** A hold of the organization has ended here. */
  released(organization: OrganizationId): void {
    const line = this.lineOf(organization)
    if (line === undefined) return
    line.progressAt = this.checks
    if (line.trying === undefined) this.tryFirst(line)
    else line.isStale = true
  }

  /** Lets go those whose time is up, and tries the others again. */
  check(): void {
    this.checks++
    for (const line of this.lines.values()) {
      // Nobody's time is up before the database has answered; that has a deadline of its own.
      if (line.trying !== undefined) continue
      for (const hold of line.holds) if (this.isOver(hold, line)) this.finish(line, hold)
      this.tryFirst(line)
    }
  }

  /** All that wait, which are then forgotten. */
  takeAll(): ReadonlyArray<PendingHold> {
    const all = [...this.lines.values()].flatMap(({ holds }) => [...holds])
    this.lines.clear()
    this.waiting = 0
    return all
  }

  private lineOf(organization: OrganizationId): Line | undefined {
    return this.isEmpty ? undefined : this.lines.get(organization)
  }

  private add(line: Line, hold: PendingHold): boolean {
    if (line.holds.size >= maxLine || this.waiting >= maxWaiting) return false
    hold.waitsSince = this.checks
    line.holds.add(hold)
    this.lines.set(hold.row.organization, line)
    this.waiting++
    return true
  }

  private delete(line: Line, hold: PendingHold): void {
    if (line.holds.delete(hold)) this.waiting--
    if (line.holds.size === 0) this.lines.delete(hold.row.organization)
  }

  private update(line: Line, funds: Funds): void {
    const { available, held } = line.funds
    if (available !== funds.available || held !== funds.held) line.progressAt = this.checks
    line.funds = funds
  }

  private tryFirst(line: Line): void {
    line.isStale = false
    const [first] = line.holds
    if (first === undefined) return
    line.trying = first
    this.actions.attempt(first)
  }

  private refuseAll(line: Line, funds: Funds): void {
    for (const hold of line.holds) {
      if (hold === line.trying) continue
      this.delete(line, hold)
      this.actions.refuse(hold, funds)
    }
  }

  private isOver({ waitsSince }: PendingHold, { progressAt }: Line): boolean {
    return this.checks >= Math.max(waitsSince, progressAt) + idleChecks || this.checks >= waitsSince + longestChecks
  }

  /** The last try, with what the organization can still pay. */
  private finish(line: Line, hold: PendingHold): void {
    this.delete(line, hold)
    const { funds } = line
    const most = affordable(hold.row.amount, funds)
    const amount = most > 0n ? hold.reduce?.(picodollars(most)) : undefined
    if (amount === undefined) return this.actions.refuse(hold, funds)
    line.funds = reduced(funds, amount)
    hold.row = { ...hold.row, amount, least: 1n - hold.row.amount }
    hold.isFinal = true
    this.actions.attempt(hold)
  }
}

/**
 * What a hold may be cut to. However large, one whole hold may overdraw the account; of that, this is what the others
 * have left, and never more than the money that is settled. So the holds still exceed the credit by less than one hold.
 */
const affordable = (amount: Picodollars, funds: Funds): bigint =>
  min(picodollars(amount + funds.available), picodollars(settledMoney(funds))) - 1n

const reduced = ({ available, held }: Funds, amount: Picodollars): Funds => ({
  available: available - amount,
  held: held + amount
})
