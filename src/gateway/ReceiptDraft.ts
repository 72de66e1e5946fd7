/**
 * A receipt that is filled in as the request proceeds. Whatever happens to the request, the receipt is complete when
 * the scope of the request closes, and is logged then. It never holds any text of the conversation.
 */
import { Cause, Clock, Effect } from "effect"

import { Catalog } from "../catalog/Catalog.ts"
import { ratesFor } from "../catalog/Price.ts"
import type { Attempt } from "../domain/Attempt.ts"
import type { Caller } from "../domain/Caller.ts"
import { type Picodollars, picodollars, zero } from "../domain/Money.ts"
import { promptTokens, type MeteredUsage } from "../domain/Usage.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { Receipt, RoutingFeatures } from "../receipts/Receipt.ts"
import { RequestLog } from "../receipts/RequestLog.ts"
import type { Requirements } from "../routing/RoutingRequest.ts"
import type { TargetChoice } from "./ChooseTargets.ts"
import { leftByClient } from "./ClientLeft.ts"

/** How many of the ranked candidates a receipt keeps: enough to explain the choice. */
const maxCandidates = 10

/** What is known of a request when its receipt is opened. */
export interface RequestFacts extends Pick<
  Receipt,
  "id" | "callName" | "endUserId" | "audio" | "stream" | "requestedModel"
> {
  readonly caller: Caller
}

/** Yields a function that opens the receipt of a request and has it logged when the scope of the request closes. */
export const receiptOpener = Effect.gen(function* () {
  const { record } = yield* RequestLog
  const { version } = yield* Catalog
  return Effect.fnUntraced(function* (facts: RequestFacts) {
    const receipt = new ReceiptDraft(facts, version, yield* Clock.currentTimeMillis)
    yield* Effect.addFinalizer((exit) => {
      if (!leftByClient(exit)) receipt.markBroken()
      return Effect.flatMap(Clock.currentTimeMillis, (now) => record(receipt.toReceipt(now)))
    })
    return receipt
  })
})

/** Collects the facts of one request in the order in which they become known. */
export class ReceiptDraft {
  private readonly facts: RequestFacts
  private readonly catalogVersion: string
  private readonly startedAtMillis: number
  private routing: Receipt["routing"] = undefined
  private target: Target | undefined = undefined
  private attempts: ReadonlyArray<Attempt> = []
  private adjusted: ReadonlyArray<string> = []
  private hold: Picodollars = zero
  private cost: Picodollars = zero
  private metered: MeteredUsage | undefined = undefined
  private firstOutputMillis: number | undefined = undefined
  private outcome: string | undefined = undefined

  constructor(facts: RequestFacts, catalogVersion: string, startedAtMillis: number) {
    this.facts = facts
    this.catalogVersion = catalogVersion
    this.startedAtMillis = startedAtMillis
  }

  /** Does nothing on a direct call, which was not routed. */
  recordRouting({ affinity, routed }: TargetChoice): void {
    if (routed === undefined) return
    const { demand, needs } = routed.ranking.features
    this.routing = {
      latencyMillis: routed.latencyMillis,
      pinned: routed.pinned,
      demand: demand?.levels ?? {},
      difficulty: demand?.difficulty ?? 0,
      features: routingFeatures(needs, this.facts.caller.models, affinity),
      candidates: routed.ranking.candidates
        .slice(0, maxCandidates)
        .map(({ cost, distance, model }) => ({ model: model.id, distance, cost })),
      excluded: routed.ranking.excluded.map(({ model, reason }) => ({ model, because: reason }))
    }
  }

  recordHold(amount: Picodollars): void {
    this.hold = amount
  }

  recordAttempts(attempts: ReadonlyArray<Attempt>): void {
    this.attempts = attempts
  }

  /** `nowMillis` is the time of the first output. */
  recordAnswer(answer: ProviderAnswer<unknown>, nowMillis: number): void {
    this.attempts = answer.attempts
    this.target = answer.target
    this.firstOutputMillis = nowMillis - this.startedAtMillis
  }

  /** The parameters that the model which answered did not get as they were asked for. */
  recordAdjustments(adjustments: ReadonlyArray<string>): void {
    this.adjusted = adjustments
  }

  recordCharge(metered: MeteredUsage, cost: Picodollars, outcome: "completed" | "client_left"): void {
    this.metered = metered
    this.cost = cost
    this.outcome = outcome
  }

  /** The answer broke off, and not because the client left. An outcome that was recorded earlier stands. */
  markBroken(): void {
    this.outcome ??= "broken"
  }

  /**
   * The request was refused or failed with the error code of the contract. An interruption records nothing: a receipt
   * without an outcome is that of a request whose client left.
   */
  recordFailure(cause: Cause.Cause<{ readonly error: { readonly code: string } }>): void {
    if (Cause.hasInterruptsOnly(cause)) return
    const code = cause.reasons.flatMap((reason) => (reason._tag === "Fail" ? [reason.error.error.code] : []))[0]
    this.outcome = code ?? "internal_error"
  }

  /** The receipt with everything that has been recorded so far. */
  toReceipt(nowMillis: number): Receipt {
    const { caller, ...facts } = this.facts
    return {
      ...facts,
      organization: caller.organization,
      project: caller.project,
      environment: caller.environment,
      key: caller.key,
      atMillis: this.startedAtMillis,
      outcome: this.outcome ?? "client_left",
      ...(this.target && { served: { model: this.target.model.id, endpoint: this.target.endpoint.id } }),
      ...(this.routing && { routing: this.routing }),
      ...(this.adjusted.length > 0 && { adjusted: this.adjusted }),
      attempts: this.attempts.map(withoutMessage),
      ...this.usageAndRates(),
      usageEstimated: this.metered?.estimated ?? false,
      catalogVersion: this.catalogVersion,
      held: this.hold,
      cost: this.cost,
      durationMillis: nowMillis - this.startedAtMillis,
      ...(this.firstOutputMillis !== undefined && { firstOutputMillis: this.firstOutputMillis })
    }
  }

  private usageAndRates(): Pick<Receipt, "usage" | "rates"> {
    if (this.metered === undefined || this.target === undefined) return {}
    const rates = ratesFor(this.target.endpoint.price, promptTokens(this.metered.usage))
    return {
      usage: this.metered.usage,
      rates: Object.fromEntries(Object.entries(rates).map(([bucket, rate]) => [bucket, picodollars(rate)]))
    }
  }
}

const routingFeatures = (
  { outputLimit, tier, ...needs }: Requirements,
  allowed: Caller["models"],
  session: string | undefined
): RoutingFeatures => ({
  ...needs,
  ...(tier !== undefined && { tier }),
  ...(outputLimit !== undefined && { outputLimit }),
  ...(allowed !== undefined && { allowed: [...allowed] }),
  ...(session !== undefined && { session })
})

/** Leaves out the provider's message, which may quote the prompt. */
const withoutMessage = (attempt: Attempt): Attempt => {
  const { message: _message, ...rest } = attempt
  return rest
}
