/**
 * The one error of access control. The rule: a database that does not answer is never reported as a bad key, because
 * the client would then discard a key that is good.
 */
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"

type Missing = "organization" | "project" | "environment" | "key" | "budget" | "webhook" | "delivery"
/** `closed`: the organization of the key is. */
type Refusal = "unknown" | "expired" | "revoked" | "closed"

export class AccessError extends Data.TaggedError("AccessError")<{
  readonly reason:
    | { readonly _tag: "InvalidKey"; readonly because: Refusal }
    | { readonly _tag: "NotFound"; readonly what: Missing }
    | { readonly _tag: "NameTaken"; readonly name: string }
    /** There is a budget of the same subject and period. */
    | { readonly _tag: "BudgetExists"; readonly period: string }
    | { readonly _tag: "KeyEnded" }
    | { readonly _tag: "WebhookDisabled" }
    | { readonly _tag: "Unavailable"; readonly cause: unknown }
}> {}

export const invalidKey = (because: Refusal): AccessError =>
  new AccessError({ reason: { _tag: "InvalidKey", because } })

export const notFound = (what: Missing): AccessError => new AccessError({ reason: { _tag: "NotFound", what } })

/** A revoked or expired key was to be replaced. */
export const keyEnded = (): AccessError => new AccessError({ reason: { _tag: "KeyEnded" } })

/** Nothing is sent to a disabled webhook. */
export const webhookDisabled = (): AccessError => new AccessError({ reason: { _tag: "WebhookDisabled" } })

export const accessUnavailable = (cause: unknown): AccessError =>
  new AccessError({ reason: { _tag: "Unavailable", cause } })

/** Maps failures of the database to `Unavailable`. */
export const orAccessUnavailable = <A, R>(
  effect: Effect.Effect<A, SqlError.SqlError, R>
): Effect.Effect<A, AccessError, R> => Effect.mapError(effect, accessUnavailable)

/** Does the same for a statement that writes a unique name: a duplicate becomes `NameTaken`. */
export const orNameTaken =
  (name: string) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, AccessError, R> =>
    Effect.mapError(effect, (error) =>
      error.reason._tag === "UniqueViolation"
        ? new AccessError({ reason: { _tag: "NameTaken", name } })
        : accessUnavailable(error)
    )

/** The same for a statement that creates a budget of a period. */
export const orBudgetExists =
  (period: string) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, AccessError, R> =>
    Effect.mapError(effect, (error) =>
      error.reason._tag === "UniqueViolation"
        ? new AccessError({ reason: { _tag: "BudgetExists", period } })
        : accessUnavailable(error)
    )
