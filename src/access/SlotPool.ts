/**
 * What one gateway knows of one limit of concurrent requests: how many of its slots this gateway was lent, and how many
 * of those are in use. Pure: it is told the time, and never waits.
 *
 * The rule: requests take slots that were lent and no others, so all gateways together never admit more than the limit.
 */

/** For how long slots are lent. Each order begins this time anew. */
export const slotLeaseMillis = 10_000
/** A slot that was free for this long goes back, although no other gateway asks. */
const idleMillis = 1_000
/** Where several gateways use a limit, each keeps at most this share of it free at hand. */
const keptShare = 1 / 20
/** How long a request waits for a slot while all are in use, because one may be on its way back. */
const shortWaitMillis = 250
/** How long it waits while another gateway may have free ones that it does not know to be needed. */
const longWaitMillis = 2_500
/** A gateway that did not get what it would like ahead of need asks again after this time. */
const shortageMillis = 1_000

/** What a gateway asks for. It is the whole of what it wants, and not a difference, so an order may be repeated. */
export interface SlotOrder {
  /** Slots in use, which it keeps in any case. */
  readonly used: number
  /** Slots that it wants in all. Any others that it was lent go back. */
  readonly wanted: number
  /** Whether to add half of what would be left then. */
  readonly ahead: boolean
  /** Whether it returns a slot as soon as that is free. */
  readonly givesBack: boolean
}

export interface SlotAnswer {
  /** The slots that are lent to this gateway from now on. */
  readonly slots: number
  /** Whether other gateways use the limit as well. */
  readonly isShared: boolean
  /** Whether other gateways may keep free slots. */
  readonly isKeptElsewhere: boolean
}

/** A request's claim to a slot of each of its pools. It gets all of them at once, and ends once. */
export interface SlotClaim {
  pools: ReadonlyArray<SlotPool>
  sinceMillis: number
  state: "new" | "waiting" | "held" | "ended"
  /** What is called when the waiting is over: without a pool if the slots were taken. */
  resume: (refusal?: SlotPool | "unavailable") => void
}

export class SlotPool {
  /** The id of an API key or of an organization. */
  readonly subject: string
  limit: number
  /** Whether it is queued for an order, or one is under way. */
  isAsked = false
  /** In the order in which they came. */
  readonly waiters = new Set<SlotClaim>()
  /** How long a claim waits at most. */
  waitMillis = longWaitMillis
  private used = 0
  private lent = 0
  private lentUntilMillis = 0
  private isShared = false
  private usedAtMillis: number
  private shortUntilMillis = 0
  /** Whether this gateway has the limit for itself. */
  private readonly isAlone: boolean

  constructor(subject: string, limit: number, isAlone: boolean, nowMillis: number) {
    this.subject = subject
    this.limit = limit
    this.isAlone = isAlone
    this.usedAtMillis = nowMillis
  }

  hasFree(nowMillis: number): boolean {
    if (this.isAlone) return this.used < this.limit
    return this.used < Math.min(this.lent, this.limit) && nowMillis < this.lentUntilMillis
  }

  /** Whether a request has to be refused without asking: this gateway uses all slots, or as many requests wait. */
  isFull(nowMillis: number): boolean {
    if (this.hasFree(nowMillis)) return false
    return this.isAlone || this.used >= this.limit || this.waiters.size >= this.limit
  }

  take(nowMillis: number): void {
    this.used++
    this.usedAtMillis = nowMillis
  }

  release(nowMillis: number): void {
    this.used--
    this.usedAtMillis = nowMillis
  }

  /** Whether free slots should go back. */
  hasSurplus(nowMillis: number): boolean {
    if (this.isAlone || this.waiters.size > 0) return false
    return this.free > (this.isIdle(nowMillis) ? 0 : this.isShared ? 2 * this.keptWhenShared : this.free)
  }

  /** Whether to ask for more before a request has to wait. */
  runsLow(nowMillis: number): boolean {
    if (this.isAlone || !this.isShared || nowMillis < this.shortUntilMillis) return false
    return this.free * 2 < this.keptWhenShared && this.lent < this.limit
  }

  /** Whether this gateway was lent slots, which have to be kept, or requests wait. */
  get isActive(): boolean {
    return !this.isAlone && (this.lent > 0 || this.used > 0 || this.waiters.size > 0)
  }

  canBeForgotten(nowMillis: number): boolean {
    const isUnused = this.used === 0 && this.lent === 0 && this.waiters.size === 0 && !this.isAsked
    return isUnused && (this.isAlone || nowMillis - this.usedAtMillis >= slotLeaseMillis)
  }

  /** The next order. What it gives back is no longer this gateway's. */
  order(nowMillis: number): SlotOrder {
    const waiting = this.waiters.size
    const kept = this.isIdle(nowMillis) && waiting === 0 ? 0 : this.isShared ? this.keptWhenShared : this.free
    const wanted = Math.max(this.used, Math.min(this.limit, this.used + waiting + kept))
    this.lent = Math.min(this.lent, wanted)
    return { used: this.used, wanted, ahead: waiting > 0 && !this.isShared, givesBack: this.isShared }
  }

  /** The last order of a gateway that stops. */
  lastOrder(): SlotOrder {
    this.lent = 0
    return { used: this.used, wanted: this.used, ahead: false, givesBack: true }
  }

  /** The answer to an order that was sent at `sentAtMillis`. */
  receive(order: SlotOrder, answer: SlotAnswer, sentAtMillis: number): void {
    this.lent = answer.slots
    this.lentUntilMillis = sentAtMillis + slotLeaseMillis
    this.isShared = answer.isShared
    this.waitMillis = answer.isKeptElsewhere ? longWaitMillis : shortWaitMillis
    if (answer.slots < order.wanted) this.shortUntilMillis = sentAtMillis + shortageMillis
  }

  private get free(): number {
    return Math.max(0, this.lent - this.used)
  }

  private get keptWhenShared(): number {
    return Math.floor(this.limit * keptShare)
  }

  private isIdle(nowMillis: number): boolean {
    return nowMillis - this.usedAtMillis >= idleMillis
  }
}
