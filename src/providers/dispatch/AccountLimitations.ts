/**
 * What calls have shown an account not to allow: extras of ours that it may not use, or the whole Responses API. A
 * limitation is remembered when the call succeeds once it is taken into account, so that a request that is wrong in
 * itself leaves no trace. It is forgotten after an hour, because accounts get verified and servers get updated.
 */
import { Clock, Duration, Effect } from "effect"

import type { Failure } from "../../domain/Failure.ts"
import { type OptionalExtra, scopeOfExtra } from "../protocols/shared/request/OptionalExtras.ts"
import type { Target } from "./Target.ts"

/** `no Responses API`: the models of the account are called through chat completions. */
export type Limitation = OptionalExtra | "no Responses API"

export interface AccountLimitations {
  /** What is known of the target's account and endpoint. */
  readonly known: (target: Target) => Effect.Effect<ReadonlySet<Limitation>>
  /** Remembers a limitation, and logs it the first time. */
  readonly remember: (target: Target, limitation: Limitation) => Effect.Effect<void>
  /** Makes a call within the known limitations, and again at once if its failure shows one that was not known. */
  readonly callWithin: <Call, A, R>(target: Target, attempt: LimitedCall<Call, A, R>) => Effect.Effect<A, Failure, R>
}

/** A call that is prepared by what is known. */
export interface LimitedCall<Call, A, R> {
  readonly prepare: (known: ReadonlySet<Limitation>) => Effect.Effect<Call, Failure>
  readonly run: (call: Call) => Effect.Effect<A, Failure, R>
  /** The limitation that a failure of this call shows, if it shows one. */
  readonly limitationIn: (failure: Failure, call: Call) => Limitation | undefined
  /** What is to be done about a failure that shows none. */
  readonly onFailure: (failure: Failure, call: Call) => Effect.Effect<void>
}

/** How long a limitation is remembered. */
const limitationLifetime = Duration.hours(1)

const nothing: ReadonlySet<Limitation> = new Set()

/** The limitations of this process. There are at most as many as providers and endpoints times kinds of limitations. */
export const makeAccountLimitations = (): AccountLimitations => {
  /** By account or endpoint: until when each limitation is remembered, in milliseconds since 1970. */
  const limitations = new Map<string, Map<Limitation, number>>()
  const logged = new Set<string>()

  const known = (target: Target): Effect.Effect<ReadonlySet<Limitation>> =>
    limitations.size === 0
      ? Effect.succeed(nothing)
      : Effect.map(Clock.currentTimeMillis, (now) => {
          const remembered = [accountKey(target), endpointKey(target)].flatMap((key) => [
            ...(limitations.get(key) ?? [])
          ])
          return new Set(remembered.filter(([, until]) => until > now).map(([limitation]) => limitation))
        })

  const remember = Effect.fnUntraced(function* (target: Target, limitation: Limitation) {
    const key = isOfAccount(limitation) ? accountKey(target) : endpointKey(target)
    const ofKey = limitations.get(key) ?? new Map<Limitation, number>()
    limitations.set(key, ofKey)
    ofKey.set(limitation, (yield* Clock.currentTimeMillis) + Duration.toMillis(limitationLifetime))
    if (logged.has(`${key} ${limitation}`)) return
    logged.add(`${key} ${limitation}`)
    yield* Effect.logWarning(`${messageOf(limitation)} It is tried again after an hour`).pipe(
      Effect.annotateLogs({ provider: target.endpoint.provider, endpoint: target.endpoint.id, limitation })
    )
  })

  const callWithin = <Call, A, R>(
    target: Target,
    { limitationIn, onFailure, prepare, run }: LimitedCall<Call, A, R>
  ) => {
    const attempt = (knownLimitations: ReadonlySet<Limitation>): Effect.Effect<A, Failure, R> =>
      Effect.flatMapEager(prepare(knownLimitations), (call) =>
        Effect.catch(run(call), (failure) => {
          const limitation = limitationIn(failure, call)
          if (limitation === undefined || knownLimitations.has(limitation))
            return Effect.andThen(onFailure(failure, call), Effect.fail(failure))
          return Effect.tap(attempt(new Set([...knownLimitations, limitation])), () => remember(target, limitation))
        })
      )
    return Effect.flatMapEager(known(target), attempt)
  }

  return { known, remember, callWithin }
}

const accountKey = ({ endpoint }: Target): string => `account ${endpoint.provider}`
const endpointKey = ({ endpoint }: Target): string => `endpoint ${endpoint.id}`

const isOfAccount = (limitation: Limitation): boolean =>
  limitation === "no Responses API" || scopeOfExtra(limitation) === "account"

const messageOf = (limitation: Limitation): string =>
  limitation === "no Responses API"
    ? "The server of a provider has no Responses API; its models are called through chat completions."
    : "A provider refuses our account an optional extra; requests are sent without it."

/** Texts with which servers report an unknown path. */
const unknownPath =
  /unexpected endpoint or method|invalid url \(|unknown request url|cannot post \/|no route matched|page not found/i
/** What a 404 is about when the path is right. */
const knownPath = /\b(?:models?|deployments?|items?|engines?|organization|project)\b/i

/** True for an error whose text reports an unknown path. */
export const namesUnknownPath = ({ message }: Failure): boolean => unknownPath.test(message)

/** True for an error that means that the server does not have the path, rather than the model. */
export const isPathMissing = (failure: Failure): boolean => {
  const { message, reason, status } = failure
  if (namesUnknownPath(failure)) return true
  if (status !== 404 && status !== 405 && status !== 501) return false
  return !(reason._tag === "Unsupported" && reason.isModelMissing === true) && !knownPath.test(message)
}
