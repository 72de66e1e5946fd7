/**
 * What one gateway knows of one token bucket: the tokens that it may spend without asking anyone, and how many the
 * bucket that it shares with other gateways had when it last asked. Pure: it is told the time, and never waits.
 *
 * Amounts are whole numbers of units, of which a token has 60,000: then a limit of n tokens a minute is n units each
 * millisecond, and all arithmetic is exact.
 */

/** The units of one token. */
export const unitsPerToken = 60_000
/** A gateway leases at most this share of a minute's limit ahead of need. */
const aheadShare = 1 / 20
/** A gateway that did not get what it needed asks again after this time at the earliest, and refuses until then. */
const shortageMillis = 20
/** A slice that was not used for this long goes back, but for one token. */
const idleMillis = 5_000
/** One token stays with an idle gateway if it is at most a fiftieth of the limit, so that a slow caller finds it. */
const keepFromLimit = 50
/** What was not used for this long goes back whole, and is forgotten. */
const forgottenMillis = 60_000

/** Whether limits are counted in this process alone: it has no database to share, or the database does not answer. */
export interface Isolation {
  isAlone: boolean
}

/** What a gateway asks of a shared bucket, and gives back to it, in units. */
export interface LeaseOrder {
  /** What requests wait for. */
  readonly need: number
  /** What would be leased ahead of need. At most half of what is left beyond the need is granted for it. */
  readonly ahead: number
  /** What goes back. Negative for tokens that were spent although the gateway did not have them. */
  readonly returned: number
}

/** Called when the answer to an order is here. */
export type Waiter = (nowMillis: number) => void

/** What is limited: requests, or the tokens of prompts and answers. */
export type LimitedResource = "requests" | "tokens"

/** Whose bucket it is, and of what. */
export interface BucketOwner {
  /** The id of an API key or of an organization. */
  readonly subject: string
  readonly resource: LimitedResource
}

export class RateBucket {
  readonly owner: BucketOwner
  readonly isolation: Isolation
  /** Tokens per minute, which is also the burst. */
  limit: number
  /** Whether it is queued for an order, or one is under way. */
  isAsked = false
  /** What waits for the next answer, in the order in which it came, with the units that it needs; and their sum. */
  private readonly waiters = new Map<Waiter, number>()
  private waiting = 0
  private held = 0
  private shared: number | undefined = undefined
  private sharedAtMillis = 0
  private shortUntilMillis = 0
  private usedAtMillis: number
  private hasRefused = false
  /** What was spent in the current second and in the one before it, from which the need of the next one is guessed. */
  private secondStartMillis = 0
  private spentNow = 0
  private spentBefore = 0

  constructor(owner: BucketOwner, limit: number, isolation: Isolation, nowMillis: number) {
    this.owner = owner
    this.limit = limit
    this.isolation = isolation
    this.usedAtMillis = nowMillis
  }

  /**
   * `ready`: the units can be taken now. `unknown`: the shared bucket has to be asked. `empty`: neither the gateway nor
   * the shared bucket has them.
   */
  check(units: number, nowMillis: number): "ready" | "unknown" | "empty" {
    if (this.held >= units) return "ready"
    if (this.isolation.isAlone) return this.left(nowMillis) >= units ? "ready" : "empty"
    const canBeLeft = nowMillis >= this.shortUntilMillis && this.left(nowMillis) - this.waiting >= units
    return canBeLeft ? "unknown" : "empty"
  }

  /** Takes units that are `ready`. */
  take(units: number, nowMillis: number): void {
    if (this.held < units) {
      this.shared = this.sharedNow(nowMillis) - (units - this.held)
      this.sharedAtMillis = nowMillis
      this.held = 0
    } else this.held -= units
    this.usedAtMillis = nowMillis
    this.startSecond(nowMillis)
    this.spentNow += units
  }

  /** Has `waiter` called with the next answer. It is called once. */
  wait(waiter: Waiter, units: number, nowMillis: number): void {
    this.waiters.set(waiter, units)
    this.waiting += units
    this.usedAtMillis = nowMillis
  }

  /** The opposite of `wait`. */
  leave(waiter: Waiter): void {
    this.waiting -= this.waiters.get(waiter) ?? 0
    this.waiters.delete(waiter)
  }

  /** Calls everything that waits. */
  wake(nowMillis: number): void {
    const waiters = [...this.waiters.keys()]
    this.waiters.clear()
    this.waiting = 0
    for (const waiter of waiters) waiter(nowMillis)
  }

  /** Gives units back, or takes further ones whether they are there or not. */
  correct(units: number, nowMillis: number): void {
    if (this.isolation.isAlone) {
      this.shared = Math.min(this.capacity, this.sharedNow(nowMillis) + units)
      this.sharedAtMillis = nowMillis
    } else this.held += units
    this.spentNow = Math.max(0, this.spentNow - units)
  }

  /** A request was refused, so what is known of the shared bucket should be renewed soon. */
  refuse(nowMillis: number): void {
    this.usedAtMillis = nowMillis
    this.hasRefused = true
  }

  /** Whether to lease more before the gateway runs out. */
  runsLow(nowMillis: number): boolean {
    if (this.isolation.isAlone || this.isAsked || nowMillis < this.shortUntilMillis) return false
    return this.held * 2 < this.target(nowMillis) && this.sharedNow(nowMillis) >= unitsPerToken
  }

  /** Whether there is something to tell the shared bucket, or to ask it, that no request waits for. */
  isStale(nowMillis: number): boolean {
    return this.hasRefused || this.held < 0 || this.surplus(nowMillis) > 0
  }

  /** Whether it leased more than it is going to need, as for a large request that was refused in the end. */
  hasTooMuch(nowMillis: number): boolean {
    return this.surplus(nowMillis) > 0
  }

  /** Whether nothing would be lost by forgetting this bucket: it is full, and the gateway has no part of it. */
  canBeForgotten(nowMillis: number): boolean {
    if (this.isAsked || this.waiters.size > 0 || nowMillis - this.usedAtMillis < forgottenMillis) return false
    return this.left(nowMillis) >= this.capacity && (this.isolation.isAlone || this.held === 0)
  }

  /** The order for the next statement. What it gives back is no longer this gateway's. */
  order(nowMillis: number): LeaseOrder {
    const returned = this.surplus(nowMillis)
    this.held -= returned
    this.hasRefused = false
    const ahead = this.isIdle(nowMillis) ? 0 : this.target(nowMillis) - Math.max(0, this.held - this.waiting)
    return { need: Math.max(0, this.waiting - this.held), ahead: Math.max(0, ahead), returned }
  }

  /** The last order of a gateway that stops: all that it has goes back. */
  lastOrder(): LeaseOrder {
    const returned = this.held
    this.held = 0
    return { need: 0, ahead: 0, returned }
  }

  /** The answer to `order`: what was granted, and what the shared bucket has left. */
  receive(order: LeaseOrder, answer: { readonly granted: number; readonly left: number }, nowMillis: number): void {
    this.held += answer.granted
    this.shared = answer.left
    this.sharedAtMillis = nowMillis
    if (answer.granted < order.need) this.shortUntilMillis = nowMillis + shortageMillis
  }

  /** The order had no answer. A debt stays; what was to be given back is lost, because it may have arrived. */
  keepDebt({ returned }: LeaseOrder): void {
    this.held += Math.min(0, returned)
  }

  /** Whole tokens that can be taken now, as far as this gateway knows. */
  remaining(nowMillis: number): number {
    return Math.max(0, Math.floor(this.left(nowMillis) / unitsPerToken))
  }

  /** How long until the bucket is full. */
  resetMillis(nowMillis: number): number {
    return Math.ceil((this.capacity - this.left(nowMillis)) / this.limit)
  }

  /** How long until these units, which are not there now, can be there. */
  retryMillis(units: number, nowMillis: number): number {
    const refilled = Math.ceil((units - this.left(nowMillis)) / this.limit)
    return Math.max(1, refilled, this.shortUntilMillis - nowMillis)
  }

  private get capacity(): number {
    return this.limit * unitsPerToken
  }

  private sharedNow(nowMillis: number): number {
    if (this.shared === undefined) return this.capacity
    const refill = Math.max(0, nowMillis - this.sharedAtMillis) * this.limit
    return Math.min(this.capacity, this.shared + refill)
  }

  private left(nowMillis: number): number {
    return Math.min(this.capacity, this.held + this.sharedNow(nowMillis))
  }

  private isIdle(nowMillis: number): boolean {
    return nowMillis - this.usedAtMillis >= idleMillis
  }

  /** What to have at hand: as much as the last second took, in whole tokens. */
  private target(nowMillis: number): number {
    this.startSecond(nowMillis)
    const most = Math.max(1, Math.floor(this.limit * aheadShare))
    const recent = Math.ceil(Math.max(this.spentNow, this.spentBefore) / unitsPerToken)
    return Math.min(most, Math.max(1, recent)) * unitsPerToken
  }

  /** What to give back: a debt, or what is neither waited for nor likely to be needed. */
  private surplus(nowMillis: number): number {
    if (this.isolation.isAlone || this.waiters.size > 0) return 0
    if (this.held < 0) return this.held
    if (!this.isIdle(nowMillis)) return this.held > 2 * this.target(nowMillis) ? this.held - this.target(nowMillis) : 0
    const keeps = this.limit >= keepFromLimit && nowMillis - this.usedAtMillis < forgottenMillis ? unitsPerToken : 0
    return Math.max(0, this.held - keeps)
  }

  private startSecond(nowMillis: number): void {
    const elapsed = nowMillis - this.secondStartMillis
    if (elapsed < 1_000) return
    this.spentBefore = elapsed < 2_000 ? this.spentNow : 0
    this.spentNow = 0
    this.secondStartMillis = nowMillis
  }
}
