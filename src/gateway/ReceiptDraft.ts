/** A receipt in the making: filled in as the request goes on, complete whenever it is closed. */
import { Cause, Clock, Effect } from "effect"

import { ratesFor } from "../catalog/Price.ts"
import type { Attempt } from "../domain/Attempt.ts"
import type { Caller } from "../domain/Caller.ts"
import { type Picodollars, picodollars, zero } from "../domain/Money.ts"
import { promptTokens, type MeteredUsage } from "../domain/Usage.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { Receipt, RoutingFeatures } from "../receipts/Receipt.ts"
import type { RequestLog } from "../receipts/RequestLog.ts"
import type { Requirements } from "../routing/RoutingRequest.ts"
import type { TargetChoice } from "./ChooseTargets.ts"
import { leftByClient } from "./ClientLeft.ts"
/** Candidates kept in a receipt: enough to explain a choice. */
const maxCandidates = 10

/** What a receipt says of its request from the first moment. */
export interface RequestFacts extends Pick<
  Receipt,
  "id" | "callName" | "endUserId" | "audio" | "stream" | "requestedModel"
> {
  readonly caller: Caller
}

export interface ReceiptServices {
  readonly requestLog: RequestLog["Service"]
  readonly catalogVersion: string
}

/** A receipt in the making, logged when the scope closes, whatever happened. */
export const openReceipt = Effect.fnUntraced(function* (filing: ReceiptServices, subject: RequestFacts) {
  const draft = new ReceiptDraft(subject, filing.catalogVersion, yield* Clock.currentTimeMillis)
  yield* Effect.addFinalizer((exit) => {
    if (!leftByClient(exit)) draft.broke()
    return Effect.flatMap(Clock.currentTimeMillis, (now) => filing.requestLog.record(draft.close(now)))
  })
  return draft
})

export class ReceiptDraft {
  private readonly subject: RequestFacts
  private readonly catalogVersion: string
  private readonly startedAtMillis: number
  private routing: Receipt["routing"] = undefined
  private target: Target | undefined = undefined
  private attempts: ReadonlyArray<Attempt> = []
  private hold: Picodollars = zero
  private cost: Picodollars = zero
  private counted: MeteredUsage | undefined = undefined
  private firstOutputMillis: number | undefined = undefined
  private outcome: string | undefined = undefined

  constructor(subject: RequestFacts, catalogVersion: string, startedAtMillis: number) {
    this.subject = subject
    this.catalogVersion = catalogVersion
    this.startedAtMillis = startedAtMillis
  }

  chosen({ affinity, routed }: TargetChoice): void {
    if (routed === undefined) return
    const { demand, needs } = routed.ranking.features
    this.routing = {
      latencyMillis: routed.latencyMillis,
      pinned: routed.pinned,
      demand: demand?.levels ?? {},
      difficulty: demand?.difficulty ?? 0,
      features: toStored(needs, this.subject.caller.models, affinity),
      candidates: routed.ranking.candidates
        .slice(0, maxCandidates)
        .map(({ cost, distance, model }) => ({ model: model.id, distance, cost })),
      excluded: routed.ranking.excluded.map(({ model, reason }) => ({ model, because: reason }))
    }
  }

  held(amount: Picodollars): void {
    this.hold = amount
  }

  attempted(attempts: ReadonlyArray<Attempt>): void {
    this.attempts = attempts
  }

  answered(answer: ProviderAnswer<unknown>, nowMillis: number): void {
    this.attempts = answer.attempts
    this.target = answer.target
    this.firstOutputMillis = nowMillis - this.startedAtMillis
  }

  charged(counted: MeteredUsage, cost: Picodollars, fate: "completed" | "client_left"): void {
    this.counted = counted
    this.cost = cost
    this.outcome = fate
  }

  /** By no doing of the client. What was decided before stands. */
  broke(): void {
    this.outcome ??= "broken"
  }

  /** Refused with an error code, or stopped by the client, which is what a receipt without a fate says. */
  failed(cause: Cause.Cause<{ readonly error: { readonly code: string } }>): void {
    if (Cause.hasInterruptsOnly(cause)) return
    const code = cause.reasons.flatMap((reason) => (reason._tag === "Fail" ? [reason.error.error.code] : []))[0]
    this.outcome = code ?? "internal_error"
  }

  /** The receipt as things stand. */
  close(nowMillis: number): Receipt {
    const { caller, ...subject } = this.subject
    return {
      ...subject,
      organization: caller.organization,
      project: caller.project,
      environment: caller.environment,
      key: caller.key,
      atMillis: this.startedAtMillis,
      outcome: this.outcome ?? "client_left",
      ...(this.target && { served: { model: this.target.model.id, endpoint: this.target.endpoint.id } }),
      ...(this.routing && { routing: this.routing }),
      attempts: this.attempts.map(withoutMessage),
      ...this.charge(),
      usageEstimated: this.counted?.estimated ?? false,
      catalogVersion: this.catalogVersion,
      held: this.hold,
      cost: this.cost,
      durationMillis: nowMillis - this.startedAtMillis,
      ...(this.firstOutputMillis !== undefined && { firstOutputMillis: this.firstOutputMillis })
    }
  }

  private charge(): Pick<Receipt, "usage" | "rates"> {
    if (this.counted === undefined || this.target === undefined) return {}
    const rates = ratesFor(this.target.endpoint.price, promptTokens(this.counted.usage))
    return {
      usage: this.counted.usage,
      rates: Object.fromEntries(Object.entries(rates).map(([bucket, rate]) => [bucket, picodollars(rate)]))
    }
  }
}

const toStored = (
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

/** A provider's message may quote the prompt, and a receipt holds nothing of what was said. */
const withoutMessage = (attempt: Attempt): Attempt => {
  const { message: _said, ...rest } = attempt
  return rest
}
