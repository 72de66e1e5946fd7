/**
 * What the log tells of providers that fail: one line for each target that failed and was followed by another, and one
 * when none was left. An account that is refused and a provider that cannot be reached get a line of their own, because
 * somebody has to act. A storm of failures writes no more than a few lines a minute for each endpoint.
 *
 * `cause` is the message of the failure without anything that it has in common with the request.
 */
import { Effect } from "effect"

import { type Failure, failureClass, isBlamedOnClient, isUnreachable } from "../../domain/Failure.ts"
import type { HeldRequestId } from "../../domain/Ids.ts"
import { type LimitedLine, makeLimitedLog } from "../../observability/LimitedLog.ts"
import { withoutQuotations } from "../../observability/Quotations.ts"
import type { Target } from "./Target.ts"

/** A target that failed. */
export interface FailedTarget {
  readonly target: Target
  readonly failure: Failure
  /** Calls of the target for this request. */
  readonly tries: number
  /** Of the last call. */
  readonly latencyMillis: number
}

/** What a log line may not quote, and whose it is. */
export interface DispatchedRequest {
  readonly held: HeldRequestId
  readonly request: unknown
}

export interface FailureLog {
  /** `hasNext`: another target is tried. */
  readonly targetFailed: (of: DispatchedRequest, failed: FailedTarget, hasNext: boolean) => Effect.Effect<void>
  /** No target answered. */
  readonly exhausted: (of: DispatchedRequest, end: ExhaustedRequest) => Effect.Effect<void>
  /** A stream broke after its first output. */
  readonly streamBroke: (of: DispatchedRequest, target: Target, failure: Failure) => Effect.Effect<void>
}

/** How a request ended for which no target answered. */
export interface ExhaustedRequest {
  readonly last: Failure
  readonly attempts: number
  /** The client is asked to wait. */
  readonly isRateLimited: boolean
}

const perMinute = 60
/** Lines that say the same until somebody acts. */
const perMinuteOfAccount = 1

export const makeFailureLog = (): FailureLog => {
  const write = makeLimitedLog()

  const targetFailed: FailureLog["targetFailed"] = (of, failed, hasNext) => {
    const lines = [accountLine(of, failed), ...(hasNext ? [failoverLine(of, failed)] : [])]
    return Effect.forEach(lines, (line) => (line === undefined ? Effect.void : write(line)), { discard: true })
  }

  const exhausted: FailureLog["exhausted"] = (of, { attempts, isRateLimited, last }) =>
    isBlamedOnClient(last) && !isRateLimited
      ? Effect.void
      : write({
          key: `exhausted ${failureClass(last)}`,
          level: isRateLimited ? "Warn" : "Error",
          message: "No provider answered",
          perMinute,
          annotations: () => ({ request: of.held, ...describe(last, of), attempts })
        })

  const streamBroke: FailureLog["streamBroke"] = (of, target, failure) =>
    write({
      key: `stream ${target.endpoint.id} ${failureClass(failure)}`,
      level: "Error",
      message: "The stream of a provider broke",
      perMinute,
      annotations: () => ({ ...describeTarget(of, target), ...describe(failure, of) })
    })

  return { targetFailed, exhausted, streamBroke }
}

const failoverLine = (of: DispatchedRequest, { failure, latencyMillis, target, tries }: FailedTarget): LimitedLine => ({
  key: `failover ${target.endpoint.id} ${failureClass(failure)}`,
  level: "Warn",
  message: "A provider failed, the next one is tried",
  perMinute,
  annotations: () => ({ ...describeTarget(of, target), ...describe(failure, of), tries, latencyMillis })
})

/** What needs the operator. */
const accountLine = (of: DispatchedRequest, { failure, target }: FailedTarget): LimitedLine | undefined => {
  const isRefused = failure.reason._tag === "Credentials"
  if (!isRefused && !isUnreachable(failure)) return undefined
  return {
    key: `account ${target.endpoint.provider} ${failureClass(failure)}`,
    level: isRefused ? "Error" : "Warn",
    message: isRefused ? "A provider refused our account" : "A provider cannot be reached",
    perMinute: perMinuteOfAccount,
    annotations: () => ({ ...describeTarget(of, target), ...describe(failure, of) })
  }
}

const describeTarget = ({ held }: DispatchedRequest, { endpoint, model }: Target) => ({
  request: held,
  provider: endpoint.provider,
  endpoint: endpoint.id,
  model: model.id
})

const describe = (failure: Failure, { request }: DispatchedRequest) => ({
  class: failureClass(failure),
  ...(failure.status !== undefined && { status: failure.status }),
  cause: withoutQuotations(failure.message, request)
})
