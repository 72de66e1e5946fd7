/**
 * What an error of a provider amounts to, in one word: the kind of a transient failure, or the tag of any other
 * failure. The tables of codes, texts and finish reasons are written in these words, and `ErrorClassifier` makes a
 * `Failure` of each.
 */
import type { FailureReason } from "../../../../domain/Failure.ts"

export type TransientKind = Extract<FailureReason, { readonly _tag: "Transient" }>["kind"]
/** `Missing` is an `Unsupported` failure: the provider does not have the model. */
export type FailureKind = TransientKind | Exclude<FailureReason["_tag"], "Transient"> | "Missing"

const transientKinds: { readonly [Kind in TransientKind]: true } = {
  rate_limited: true,
  overloaded: true,
  timeout: true,
  network: true,
  server: true,
  broken: true
}

export const isTransientKind = (kind: FailureKind): kind is TransientKind => kind in transientKinds
