/**
 * What this process has seen of the endpoints it called, for operators. It decides nothing: the circuit breakers do.
 * What the client did wrong leaves no trace here.
 */
import { Exit, Option } from "effect"

import { type Failure, failureClass, policyOf } from "../../domain/Failure.ts"
import type { EndpointId } from "../../domain/Ids.ts"
import type { OutOfTime } from "./FailoverRules.ts"

/** How a call ended. */
export type CallExit = Exit.Exit<unknown, Failure | OutOfTime>

/** The failure of a call. One that was interrupted, or given up because time was out, has none. */
export const failureIn = (exit: CallExit): Failure | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error?._tag === "Failure" ? error : undefined
}

/** A failure that was the provider's fault. */
interface SeenFailure {
  /** Such as `rate_limited`, `timeout` or `Credentials`. */
  readonly class: string
  /** The provider's HTTP status, if it answered. */
  readonly status: number | undefined
  readonly atMillis: number
}

interface EndpointRecord {
  lastFailure?: SeenFailure
  /** The first refusal of our account since the endpoint last answered. */
  refusedSinceMillis?: number | undefined
  lastAnswerMillis?: number
}

/** Times are in milliseconds since 1970. */
export interface EndpointHealth extends Readonly<EndpointRecord> {
  readonly breaker: "closed" | "open" | "half_open"
  /** Until the endpoint is called again; zero unless the breaker is open. */
  readonly retryAfterMillis: number
  /** The breaker is open because the provider limits our rate. */
  readonly isRateLimited: boolean
}

/** The endpoints that were called. The catalog bounds them. */
export class EndpointHistory {
  private readonly records = new Map<EndpointId, EndpointRecord>()

  /** Notes how a call ended. An interruption says nothing about the endpoint. */
  note(endpoint: EndpointId, exit: CallExit, nowMillis: number): void {
    const failure = failureIn(exit)
    if (failure === undefined ? Exit.isFailure(exit) : !policyOf(failure).providerFault) return
    const record = this.records.get(endpoint) ?? {}
    this.records.set(endpoint, record)
    if (failure === undefined) {
      record.lastAnswerMillis = nowMillis
      record.refusedSinceMillis = undefined
      return
    }
    record.lastFailure = { class: failureClass(failure), status: failure.status, atMillis: nowMillis }
    if (failure.reason._tag === "Credentials") record.refusedSinceMillis ??= nowMillis
  }

  of(endpoint: EndpointId): Readonly<EndpointRecord> {
    return this.records.get(endpoint) ?? {}
  }
}
