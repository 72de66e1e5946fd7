/**
 * What calls have taught about an account: which extras it may not use, and whether its server has the Responses API at
 * all. A lesson is learnt when a call succeeds only after it was heeded, so that a request that is wrong in itself
 * teaches nothing. It is forgotten after an hour, since accounts get verified and servers get updated.
 */
import { Clock, Duration, Effect } from "effect"

import type { Failure } from "../../domain/Failure.ts"
import { type OptionalExtra, scopeOfExtra } from "../protocols/shared/OptionalExtras.ts"
import type { Target } from "./Target.ts"

/** `no Responses API`: the models of the account are spoken to by chat completions. */
export type Lesson = OptionalExtra | "no Responses API"

export interface AccountLessons {
  /** What is known of the target's account and endpoint. */
  readonly known: (target: Target) => Effect.Effect<ReadonlySet<Lesson>>
  /** Remembers a lesson, and logs it the first time. */
  readonly learn: (target: Target, lesson: Lesson) => Effect.Effect<void>
  /** Makes a call by what is known, and again at once if its failure teaches what was not known. */
  readonly heeding: <Call, A, R>(target: Target, attempt: HeedfulCall<Call, A, R>) => Effect.Effect<A, Failure, R>
}

/** A call that is prepared by what is known. */
export interface HeedfulCall<Call, A, R> {
  readonly prepare: (known: ReadonlySet<Lesson>) => Effect.Effect<Call, Failure>
  readonly run: (call: Call) => Effect.Effect<A, Failure, R>
  /** What a failure of this call teaches, if it teaches anything. */
  readonly lessonOf: (failure: Failure, call: Call) => Lesson | undefined
}

/** How long a lesson is heeded. */
const lessonLifetime = Duration.hours(1)

const nothing: ReadonlySet<Lesson> = new Set()

/** The lessons of this process. There are at most as many as providers and endpoints times kinds of lessons. */
export const makeAccountLessons = (): AccountLessons => {
  /** By account or endpoint: until when each lesson is heeded, in milliseconds since 1970. */
  const lessons = new Map<string, Map<Lesson, number>>()
  const logged = new Set<string>()

  const known = (target: Target): Effect.Effect<ReadonlySet<Lesson>> =>
    lessons.size === 0
      ? Effect.succeed(nothing)
      : Effect.map(Clock.currentTimeMillis, (now) => {
          const heeded = [accountKey(target), endpointKey(target)].flatMap((key) => [...(lessons.get(key) ?? [])])
          return new Set(heeded.filter(([, until]) => until > now).map(([lesson]) => lesson))
        })

  const learn = Effect.fnUntraced(function* (target: Target, lesson: Lesson) {
    const key = isOfAccount(lesson) ? accountKey(target) : endpointKey(target)
    const ofKey = lessons.get(key) ?? new Map<Lesson, number>()
    lessons.set(key, ofKey)
    ofKey.set(lesson, (yield* Clock.currentTimeMillis) + Duration.toMillis(lessonLifetime))
    if (logged.has(`${key} ${lesson}`)) return
    logged.add(`${key} ${lesson}`)
    yield* Effect.logWarning(`${messageOf(lesson)} It is tried again after an hour`).pipe(
      Effect.annotateLogs({ provider: target.endpoint.provider, endpoint: target.endpoint.id, lesson })
    )
  })

  const heeding = <Call, A, R>(target: Target, { lessonOf, prepare, run }: HeedfulCall<Call, A, R>) => {
    const attempt = (lessonsKnown: ReadonlySet<Lesson>): Effect.Effect<A, Failure, R> =>
      Effect.flatMap(prepare(lessonsKnown), (call) =>
        Effect.catch(run(call), (failure) => {
          const lesson = lessonOf(failure, call)
          if (lesson === undefined || lessonsKnown.has(lesson)) return Effect.fail(failure)
          return Effect.tap(attempt(new Set([...lessonsKnown, lesson])), () => learn(target, lesson))
        })
      )
    return Effect.flatMap(known(target), attempt)
  }

  return { known, learn, heeding }
}

const accountKey = ({ endpoint }: Target): string => `account ${endpoint.provider}`
const endpointKey = ({ endpoint }: Target): string => `endpoint ${endpoint.id}`

const isOfAccount = (lesson: Lesson): boolean => lesson === "no Responses API" || scopeOfExtra(lesson) === "account"

const messageOf = (lesson: Lesson): string =>
  lesson === "no Responses API"
    ? "The server of a provider has no Responses API; its models are asked by chat completions."
    : "A provider refuses our account an optional extra; requests are sent without it."

/** How servers say that they do not know the path. */
const unknownPath =
  /unexpected endpoint or method|invalid url \(|unknown request url|cannot post \/|no route matched|page not found/i
/** What a 404 is about when the path is right. */
const knownPath = /\b(?:models?|deployments?|items?|engines?|organization|project)\b/i

/** True for an error that says that the server does not have the path, rather than the model. */
export const isPathMissing = ({ message, reason, status }: Failure): boolean => {
  if (unknownPath.test(message)) return true
  if (status !== 404 && status !== 405 && status !== 501) return false
  return !(reason._tag === "Unsupported" && reason.isModelMissing === true) && !knownPath.test(message)
}
