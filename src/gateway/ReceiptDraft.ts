/**
 * A receipt that is filled in as the request proceeds. It is filed as soon as the end of the request is known, before
 * the client is told of it, so that it can be asked for right after the answer. Whatever happens to the request, it is
 * filed at the latest when the scope of the request closes. It never holds any text of the conversation.
 */
import { Cause, Clock, Context, Effect, Scope } from "effect"

import { Catalog } from "../catalog/Catalog.ts"
import { providerPriceOf } from "../catalog/ChargeRules.ts"
import type { Attempt } from "../domain/Attempt.ts"
import type { Caller } from "../domain/Caller.ts"
import { type Picodollars, zero } from "../domain/Money.ts"
import type { MeteredUsage, Usage } from "../domain/Usage.ts"
import { type AccessRecord, CurrentAccessRecord } from "../observability/AccessLog.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { providerCostOf, statedRates } from "../receipts/ChargedReceipt.ts"
import type { ChargeFacts, Receipt, RecordedCharge } from "../receipts/Receipt.ts"
import { RequestLog } from "../receipts/RequestLog.ts"
import type { TargetChoice } from "./ChooseTargets.ts"
import { leftByClient } from "./ClientLeft.ts"
import { billedCall, excludedOf, routingFeatures, ruleOf, servedBy, withoutMessage } from "./ReceiptParts.ts"

/** How many of the ranked candidates a receipt keeps: enough to explain the choice. */
const maxCandidates = 10

/** What is known of a request when its receipt is opened. */
export interface RequestFacts extends Pick<
  Receipt,
  "id" | "callName" | "endUserId" | "audio" | "stream" | "requestedModel" | "choices"
> {
  readonly caller: Caller
}

/** An error of the contract. */
interface ErrorWithCode {
  readonly error: { readonly code: string }
}

/**
 * Yields a function that opens the receipt of a request and passes it to what handles the request. The receipt is filed
 * when that fails, and at the latest when the scope of the request closes.
 */
export const receiptOpener = Effect.gen(function* () {
  const { record } = yield* RequestLog
  const { version } = yield* Catalog
  return <A, E extends ErrorWithCode, R>(
    facts: RequestFacts,
    use: (receipt: ReceiptDraft) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R | Scope.Scope> =>
    Effect.contextWith((context: Context.Context<Scope.Scope>) => {
      const nowMillis = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
      const receipt = new ReceiptDraft(facts, version, nowMillis, record, Context.get(context, CurrentAccessRecord))
      const fileIfOpen = Scope.addFinalizerExit(Context.get(context, Scope.Scope), (exit) => {
        if (receipt.isFiled) return Effect.void
        if (!leftByClient(exit)) receipt.markBroken()
        return receipt.fileNow
      })
      const handled = Effect.suspend(() => use(receipt))
      return Effect.flatMap(fileIfOpen, () => Effect.tapCause(handled, (cause) => receipt.recordFailure(cause)))
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
  private providerCost: Picodollars | undefined = undefined
  private unchargedUsage: Usage | undefined = undefined
  private uncollected: Picodollars | undefined = undefined
  private firstOutputMillis: number | undefined = undefined
  private outcome: string | undefined = undefined
  private readonly record: RequestLog["Service"]["record"]
  private readonly access: AccessRecord | undefined
  /** What this try of the request took. */
  metered: MeteredUsage | undefined = undefined
  isFiled = false

  constructor(
    facts: RequestFacts,
    catalogVersion: string,
    startedAtMillis: number,
    record: RequestLog["Service"]["record"],
    access?: AccessRecord
  ) {
    this.facts = facts
    this.catalogVersion = catalogVersion
    this.startedAtMillis = startedAtMillis
    this.record = record
    this.access = access
  }

  /** Does nothing on a direct call, which was not routed. */
  recordRouting({ affinity, routed }: TargetChoice): void {
    if (routed === undefined) return
    const { demand } = routed.ranking.features
    this.routing = {
      latencyMillis: routed.latencyMillis,
      pinned: routed.pinned,
      demand: demand?.levels ?? {},
      difficulty: demand?.difficulty ?? 0,
      features: routingFeatures(routed.ranking.features, this.facts.caller.models, affinity),
      candidates: routed.ranking.candidates
        .slice(0, maxCandidates)
        .map(({ cost, distance, model }) => ({ model: model.id, distance, cost })),
      excluded: excludedOf(routed)
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

  recordCharge({ cost, metered, outcome, uncollected }: RecordedCharge): void {
    this.metered = metered
    this.cost = cost
    this.uncollected = uncollected
    this.outcome = outcome
    this.recordProviderCost(metered.usage)
  }

  /** What the provider reported of an answer that is not charged; `undefined` if nothing that can be right. */
  recordUncharged(usage: Usage | undefined): void {
    if (usage === undefined || this.metered !== undefined) return
    this.unchargedUsage = usage
    this.recordProviderCost(usage)
  }

  private recordProviderCost(usage: Usage): void {
    if (this.target === undefined) return
    this.providerCost = providerCostOf(providerPriceOf(this.target.endpoint), usage, this.facts.audio)
  }

  /**
   * The charge of an earlier try of the request stands, and the journal explains it. This receipt only adds to it how
   * this try was routed and attempted.
   */
  recordEarlierCharge(): void {
    this.unchargedUsage = this.metered?.usage
    this.metered = undefined
    this.cost = zero
    this.uncollected = undefined
  }

  /** The answer broke off, and not because the client left. An outcome that was recorded earlier stands. */
  markBroken(): void {
    this.outcome ??= "broken"
  }

  /**
   * The request was refused or failed with the error code of the contract, and its receipt is filed. An interruption
   * records nothing: a receipt without an outcome is that of a request whose client left.
   */
  recordFailure(cause: Cause.Cause<ErrorWithCode>): Effect.Effect<void> {
    if (Cause.hasInterruptsOnly(cause) || this.isFiled) return Effect.void
    const code = cause.reasons.flatMap((reason) => (reason._tag === "Fail" ? [reason.error.error.code] : []))[0]
    this.outcome = code ?? "internal_error"
    return this.fileNow
  }

  /**
   * Hands the receipt to the log, once. If it is not certain yet what is charged, `settled` waits for the receipt that
   * is right in the end.
   */
  file(nowMillis: number, settled?: (receipt: Receipt) => Effect.Effect<Receipt>): Effect.Effect<void> {
    if (this.isFiled) return Effect.void
    this.isFiled = true
    const receipt = this.toReceipt(nowMillis)
    if (this.access !== undefined) this.access.call = billedCall(receipt, this.target)
    return this.record(receipt, settled?.(receipt))
  }

  readonly fileNow: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => this.file(now))

  /** What the charge that was recorded is computed from, to be stored with it. */
  chargeFacts(nowMillis: number): ChargeFacts {
    const { metered, target } = this
    if (metered === undefined || target === undefined) throw new Error("nothing was charged")
    return { ...this.common(nowMillis), ...ruleOf(target), served: servedBy(target), usage: metered.usage }
  }

  /** The receipt with everything that has been recorded so far. */
  toReceipt(nowMillis: number): Receipt {
    return {
      ...this.common(nowMillis),
      id: this.facts.id,
      organization: this.facts.caller.organization,
      ...(this.target && { served: servedBy(this.target) }),
      ...(this.routing && { routing: this.routing }),
      ...(this.facts.choices && { choices: this.facts.choices }),
      ...(this.adjusted.length > 0 && { adjusted: this.adjusted }),
      attempts: this.attempts.map(withoutMessage),
      ...this.usageAndRates(),
      ...(this.unchargedUsage && { unchargedUsage: this.unchargedUsage }),
      cost: this.cost
    }
  }

  /** What the receipt shares with the facts of its charge. */
  private common(nowMillis: number): Omit<ChargeFacts, "served" | "usage"> {
    const { caller, choices: _choices, id: _id, ...facts } = this.facts
    return {
      ...facts,
      project: caller.project,
      environment: caller.environment,
      key: caller.key,
      atMillis: this.startedAtMillis,
      outcome: this.outcome ?? "client_left",
      usageEstimated: this.metered?.estimated ?? false,
      catalogVersion: this.catalogVersion,
      held: this.hold,
      ...(this.providerCost !== undefined && { providerCost: this.providerCost }),
      ...(this.uncollected !== undefined && { uncollected: this.uncollected }),
      durationMillis: nowMillis - this.startedAtMillis,
      ...(this.firstOutputMillis !== undefined && { firstOutputMillis: this.firstOutputMillis })
    }
  }

  private usageAndRates(): Pick<Receipt, "usage" | "rates" | "rateDivisor" | "rule"> {
    if (this.metered === undefined || this.target === undefined) return {}
    const { usage } = this.metered
    return { usage, ...statedRates(this.target.endpoint.price, usage), ...ruleOf(this.target) }
  }
}
