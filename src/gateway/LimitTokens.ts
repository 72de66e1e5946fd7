/**
 * The limits of tokens per minute. What a request is expected to take counts from its admission, and what it took in
 * the end replaces it, when the scope of the request closes: nothing, if it failed.
 */
import { Effect, type Scope } from "effect"

import { hasTokenLimit, rateLimitMessage, RateLimits } from "../access/RateLimits.ts"
import { RateLimitExceeded } from "../api/Errors.ts"
import type { Caller } from "../domain/Caller.ts"
import { totalTokens } from "../domain/Usage.ts"
import type { ReceiptDraft } from "./ReceiptDraft.ts"

/** Yields a function that admits a request of so many tokens, or fails with 429. It does nothing for most callers. */
export const tokenLimiter = Effect.map(
  RateLimits,
  (limits) =>
    (
      caller: Caller,
      receipt: ReceiptDraft,
      expectedTokens: () => number
    ): Effect.Effect<void, RateLimitExceeded, Scope.Scope> =>
      hasTokenLimit(caller)
        ? Effect.acquireRelease(
            limits.holdTokens(caller, expectedTokens()),
            ({ settle }) => Effect.suspend(() => settle(receipt.metered ? totalTokens(receipt.metered.usage) : 0)),
            { interruptible: true }
          ).pipe(
            Effect.mapError((limited) => RateLimitExceeded.of(rateLimitMessage(limited), limited.retryAfter)),
            Effect.asVoid
          )
        : Effect.void
)
