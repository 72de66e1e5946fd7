/**
 * What can go wrong in this room. A database that does not answer is never reported as a bad key: a client would throw
 * its key away for our fault.
 */
import { Data, Effect } from "effect"
import type { SqlError } from "effect/sql"

export class AccessError extends Data.TaggedError("AccessError")<{
  readonly reason:
    | { readonly _tag: "InvalidKey"; readonly because: "unknown" | "expired" | "revoked" }
    | { readonly _tag: "NotFound"; readonly what: "organization" | "project" | "environment" | "key" }
    | { readonly _tag: "NameTaken"; readonly name: string }
    | { readonly _tag: "Unavailable"; readonly cause: unknown }
}> {}

export const invalidKey = (because: "unknown" | "expired" | "revoked"): AccessError =>
  new AccessError({ reason: { _tag: "InvalidKey", because } })

export const notFound = (what: "organization" | "project" | "environment" | "key"): AccessError =>
  new AccessError({ reason: { _tag: "NotFound", what } })

export const accessUnavailable = (cause: unknown): AccessError =>
  new AccessError({ reason: { _tag: "Unavailable", cause } })

/** Turns failures of the database into `Unavailable`. */
export const orAccessUnavailable = <A, R>(
  effect: Effect.Effect<A, SqlError.SqlError, R>
): Effect.Effect<A, AccessError, R> => Effect.mapError(effect, accessUnavailable)

/** The same for statements that write a name which has to be unique. */
export const orNameTaken =
  (name: string) =>
  <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>): Effect.Effect<A, AccessError, R> =>
    Effect.mapError(effect, (error) =>
      error.reason._tag === "UniqueViolation"
        ? new AccessError({ reason: { _tag: "NameTaken", name } })
        : accessUnavailable(error)
    )
