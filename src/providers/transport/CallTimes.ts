/** The time limits of one call, on the monotonic clock in milliseconds. */
import { Duration } from "effect"

import { type Failure, transient } from "../../domain/Failure.ts"
import type { Timeouts } from "./Timeouts.ts"

export class CallTimes {
  readonly silenceMillis: number
  private readonly nowMillis: () => number
  private readonly endsAtMillis: number
  /** Until when the call must have got so far as it has to. */
  latestMillis: number

  /** `firstOutput`: the limit until the first output, where there is one. */
  constructor(timeouts: Timeouts, nowMillis: () => number, firstOutput: Duration.Duration | undefined) {
    const now = nowMillis()
    this.nowMillis = nowMillis
    this.silenceMillis = Duration.toMillis(timeouts.silence)
    this.endsAtMillis = now + Duration.toMillis(timeouts.call)
    this.latestMillis =
      firstOutput === undefined ? this.endsAtMillis : Math.min(now + Duration.toMillis(firstOutput), this.endsAtMillis)
  }

  /** In so many milliseconds, unless the call has to be further before. */
  in(millis: number): number {
    return Math.min(this.nowMillis() + millis, this.latestMillis)
  }

  /** From now on only the limit of the whole call holds, and that of its silences. */
  outputBegan(): void {
    this.latestMillis = this.endsAtMillis
  }

  /** Why a call has expired that waits for bytes, at first for the headers of the answer. */
  failure({ isAnswered }: { readonly isAnswered: boolean }): Failure {
    const now = this.nowMillis()
    if (!isAnswered) return transient("timeout", "The provider did not answer in time.")
    if (now >= this.endsAtMillis) return transient("timeout", "The provider took too long to answer.")
    return now >= this.latestMillis
      ? transient("timeout", "The provider produced no output in time.")
      : transient("timeout", "The provider fell silent.")
  }
}
