/**
 * Routes logged requests again and adds up what was chosen then and what would be chosen now, by request and by
 * session. It keeps totals, and only those sessions whose pin would not have expired, so its size does not grow with
 * the log.
 */
import { DateTime, Duration } from "effect"

import type { Catalog } from "../catalog/Catalog.ts"
import { axes, type Model } from "../catalog/Model.ts"
import { costOf } from "../catalog/Price.ts"
import type { ModelId } from "../domain/Ids.ts"
import { add, type Picodollars, zero } from "../domain/Money.ts"
import type { Receipt } from "../receipts/Receipt.ts"
import type { RecentRequest } from "../receipts/RecentRequests.ts"
import type { Demand } from "../routing/Demand.ts"
import { exclusionOf } from "../routing/Eligibility.ts"
import type { Ranking } from "../routing/Ranking.ts"
import type { Router } from "../routing/Router.ts"
import type { RequestFeatures } from "../routing/RoutingRequest.ts"
import { pinLifetime } from "../routing/SessionPins.ts"

/** A number of requests, with the cost of the same requests before and after. */
interface Comparison {
  requests: number
  before: Picodollars
  after: Picodollars
}

const emptyComparison = (): Comparison => ({ requests: 0, before: zero, after: zero })

const count = (comparison: Comparison, before: Picodollars, after: Picodollars): void => {
  comparison.requests++
  comparison.before = add(comparison.before, before)
  comparison.after = add(comparison.after, after)
}

interface Pin {
  readonly model: ModelId
  readonly usedAtMillis: number
}

/** One logged request and its new ranking. */
interface ReplayedRequest {
  readonly receipt: Receipt
  readonly routing: Routing
  /** The model that was called first, or ranked first, at the time. */
  readonly before: ModelId
  readonly ranking: Ranking
  /** Disregards the reasoning tier, as a session pin does. */
  readonly canServe: (model: Model) => boolean
}

type Routing = NonNullable<Receipt["routing"]>

/** The totals of a replay. `add` each logged request in order of age. */
export class ReplayTotals {
  private readonly catalog: Catalog["Service"]
  private readonly router: Router["Service"]
  /** By session, the least recently used first. */
  private readonly pins = new Map<string, Pin>()

  requests = 0
  /** When the first and the last of these requests began, as ISO 8601 in UTC. */
  span: { readonly from: string; readonly to: string } | undefined = undefined
  replayed = 0
  /**
   * Requests that are not replayed: direct calls, transcriptions, those refused before a model was chosen, and those
   * whose own choices of models, providers or cost decided as well.
   */
  notRouted = 0
  /** Requests that are not replayed: their version logged no features, or features on other axes. */
  withoutFeatures = 0
  /** Requests that are not replayed: their receipt cannot be decoded. */
  unreadable = 0
  /** Requests that another model would answer now, or no model (`unanswerable`). */
  changed = 0
  unanswerable = 0
  sessions = 0
  /** Sessions that would begin on another model. */
  switched = 0
  /** Requests per model, then and now. */
  readonly models = new Map<ModelId, { before: number; after: number }>()
  /** Expected cost then and now, of the requests that have both: their model was a logged candidate. */
  readonly expected = emptyComparison()
  /** What was charged for requests that keep their model, and what the same tokens cost now. */
  readonly charged = emptyComparison()
  /** What was charged for requests that change their model. How many tokens the other model would use is unknown. */
  readonly otherModel = { requests: 0, charged: zero }

  constructor(catalog: Catalog["Service"], router: Router["Service"]) {
    this.catalog = catalog
    this.router = router
  }

  add(recent: RecentRequest): void {
    this.requests++
    if (recent === "Unreadable") {
      this.unreadable++
      return
    }
    const at = DateTime.formatIso(DateTime.makeUnsafe(recent.atMillis))
    this.span = { from: this.span?.from ?? at, to: at }
    const { routing } = recent
    if (routing === undefined || narrowsModels(recent)) {
      this.notRouted++
      return
    }
    const features = loggedFeatures(routing)
    const before = recent.attempts[0]?.model ?? routing.candidates[0]?.model
    if (features === undefined || before === undefined) this.withoutFeatures++
    else this.replay(recent, routing, features, before)
  }

  private replay(receipt: Receipt, routing: Routing, features: RequestFeatures, before: ModelId): void {
    const allowed = routing.features?.allowed && new Set(routing.features.allowed)
    const ranking = this.router.rankFeatures(features, allowed)
    const canServe = (model: Model) => exclusionOf(model, { ...features.needs, tier: undefined }, allowed) === undefined
    const after = this.choose({ receipt, routing, before, ranking, canServe })
    this.replayed++
    this.countsOf(before).before++
    if (after === undefined) this.unanswerable++
    else this.countsOf(after.id).after++
    if (after?.id !== before) this.changed++
    this.compareExpected(routing, before, ranking, after)
    this.compareCharged(receipt, before, after)
  }

  /** The model that would answer now: the one that the session would be pinned to, else the first candidate. */
  private choose({ before, canServe, ranking, receipt, routing }: ReplayedRequest): Model | undefined {
    this.expirePins(receipt.atMillis)
    const first = ranking.candidates[0]?.model
    const session = routing.features?.session
    if (session === undefined) return first
    const pin = this.pins.get(session)
    // A session that began before the first replayed request was already pinned.
    const pinned = pin?.model ?? (routing.pinned ? before : undefined)
    const found = pinned === undefined ? undefined : this.catalog.lookup(pinned)
    const kept = found?._tag === "Served" && canServe(found.model) ? found.model : undefined
    const chosen = kept ?? first
    if (chosen === undefined) return undefined
    if (pin === undefined) {
      this.sessions++
      if (chosen.id !== before) this.switched++
    }
    // Deleted first, so that it becomes the most recently used.
    this.pins.delete(session)
    this.pins.set(session, { model: chosen.id, usedAtMillis: receipt.atMillis })
    return chosen
  }

  private expirePins(nowMillis: number): void {
    for (const [session, { usedAtMillis }] of this.pins) {
      if (nowMillis - usedAtMillis < Duration.toMillis(pinLifetime)) return
      this.pins.delete(session)
    }
  }

  private countsOf(id: ModelId): { before: number; after: number } {
    const known = this.models.get(id)
    if (known !== undefined) return known
    const counts = { before: 0, after: 0 }
    this.models.set(id, counts)
    return counts
  }

  private compareExpected(routing: Routing, before: ModelId, ranking: Ranking, after: Model | undefined): void {
    const then = routing.candidates.find(({ model }) => model === before)
    const now = ranking.candidates.find(({ model }) => model === after)
    if (then !== undefined && now !== undefined) count(this.expected, then.cost, now.cost)
  }

  private compareCharged({ cost, served, usage }: Receipt, before: ModelId, after: Model | undefined): void {
    if (cost === zero || usage === undefined || served === undefined) return
    const keeps = after !== undefined && (after.id === before || after.id === served.model)
    const found = keeps ? this.catalog.lookup(served.model) : undefined
    if (found?._tag !== "Served") {
      this.otherModel.requests++
      this.otherModel.charged = add(this.otherModel.charged, cost)
      return
    }
    const { endpoints } = found.model
    const endpoint = endpoints.find(({ id }) => id === served.endpoint) ?? endpoints[0]
    count(this.charged, cost, costOf(endpoint.price, usage))
  }
}

const narrowsModels = ({ choices = {} }: Receipt): boolean =>
  choices.models !== undefined || choices.provider !== undefined || choices.maxCost !== undefined

/** The features that the router ranked by at the time; `undefined` when the receipt does not hold all of them. */
const loggedFeatures = ({ demand, difficulty, features }: Routing): RequestFeatures | undefined => {
  if (features === undefined) return undefined
  const { allowed: _allowed, costQuality, outputLimit, session: _session, tier, ...needs } = features
  const hasDemand = !features.image && !features.audio
  if (hasDemand && axes.some((axis) => demand[axis] === undefined)) return undefined
  return {
    needs: { ...needs, tier, outputLimit },
    // The check above found every axis.
    demand: hasDemand ? { levels: demand as Demand["levels"], difficulty } : undefined,
    ...(costQuality !== undefined && { costQuality })
  }
}
