/** A receipt in the making: filled in as the request goes on, complete whenever it is closed. */
import { Cause } from "effect"

import { ratesFor } from "../catalog/Price.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { type Picodollars, picodollars, zero } from "../domain/Money.ts"
import { promptTokens } from "../domain/Usage.ts"
import type { Answer } from "../providers/Dispatch.ts"
import type { Target } from "../providers/Target.ts"
import type { Receipt } from "../usage/Receipt.ts"
import type { ChatCall } from "./ChatCall.ts"
import type { Choice } from "./ChooseTargets.ts"
import type { Counted } from "./Meter.ts"

/** Candidates kept in a receipt: enough to explain a choice. */
const maxCandidates = 10

export class ReceiptDraft {
  private readonly call: ChatCall
  private readonly catalogVersion: string
  private readonly startedAtMillis: number
  private routing: Receipt["routing"] = undefined
  private target: Target | undefined = undefined
  private attempts: ReadonlyArray<Attempt> = []
  private hold: Picodollars = zero
  private cost: Picodollars = zero
  private counted: Counted | undefined = undefined
  private firstOutputMillis: number | undefined = undefined
  private fate: string | undefined = undefined

  constructor(call: ChatCall, catalogVersion: string, startedAtMillis: number) {
    this.call = call
    this.catalogVersion = catalogVersion
    this.startedAtMillis = startedAtMillis
  }

  chosen({ routed }: Choice): void {
    if (routed === undefined) return
    this.routing = {
      latencyMillis: routed.latencyMillis,
      pinned: routed.pinned,
      demand: routed.ranking.demand,
      difficulty: routed.ranking.difficulty,
      candidates: routed.ranking.candidates
        .slice(0, maxCandidates)
        .map(({ cost, distance, model }) => ({ model: model.id, distance, cost })),
      excluded: routed.ranking.excluded
    }
  }

  held(amount: Picodollars): void {
    this.hold = amount
  }

  attempted(attempts: ReadonlyArray<Attempt>): void {
    this.attempts = attempts
  }

  answered(answer: Answer<unknown>, nowMillis: number): void {
    this.attempts = answer.attempts
    this.target = answer.target
    this.firstOutputMillis = nowMillis - this.startedAtMillis
  }

  charged(counted: Counted, cost: Picodollars, fate: "completed" | "client_left"): void {
    this.counted = counted
    this.cost = cost
    this.fate = fate
  }

  /** By no doing of the client. What was decided before stands. */
  broke(): void {
    this.fate ??= "broken"
  }

  /** Refused with an error code, or stopped by the client, which is what a receipt without a fate says. */
  failed(cause: Cause.Cause<{ readonly error: { readonly code: string } }>): void {
    if (Cause.hasInterruptsOnly(cause)) return
    const code = cause.reasons.flatMap((reason) => (reason._tag === "Fail" ? [reason.error.error.code] : []))[0]
    this.fate = code ?? "internal_error"
  }

  /** The receipt as things stand. */
  close(nowMillis: number): Receipt {
    const { caller, id, input } = this.call
    return {
      id,
      organization: caller.organization,
      project: caller.project,
      environment: caller.environment,
      key: caller.key,
      atMillis: this.startedAtMillis,
      ...(input.callName !== undefined && { callName: input.callName }),
      stream: input.stream,
      ...(input.model !== undefined && { requestedModel: input.model }),
      outcome: this.fate ?? "client_left",
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

/** A provider's message may quote the prompt, and a receipt holds nothing of what was said. */
const withoutMessage = (attempt: Attempt): Attempt => {
  const { message: _said, ...rest } = attempt
  return rest
}
