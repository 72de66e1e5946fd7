/**
 * The finish reasons of a protocol, as a table of the words that providers use for each reason of OpenAI's. A reason
 * that is in no table makes the answer a broken one, so that a new one is noticed and never passed off as `stop`.
 */
import type { FinishReason } from "../../../domain/Completion.ts"
import type { Failure } from "../../../domain/Failure.ts"
import { failureOfKind } from "./ErrorClassifier.ts"
import type { FailureKind } from "./FailureKind.ts"
import { lookupTable, type WordsByKey } from "./LookupTable.ts"
import type { ResponseState } from "./ResponseReader.ts"

export interface FinishReasons {
  readonly reasons: ReadonlyMap<string, FinishReason>
  readonly failures: ReadonlyMap<string, FailureKind>
}

/** `failures` are the reasons that report a failure. */
export const finishReasonTable = (
  reasons: WordsByKey<FinishReason>,
  failures: WordsByKey<FailureKind> = {}
): FinishReasons => ({ reasons: lookupTable(reasons), failures: lookupTable(failures) })

/** Reads a finish reason into the state. A chunk without one changes nothing. */
export const readFinishReason = (
  state: ResponseState,
  { failures, reasons }: FinishReasons,
  reason: string | undefined
): Failure | undefined => {
  if (reason === undefined) return undefined
  const finishReason = reasons.get(reason)
  if (finishReason === undefined)
    return failureOfKind(failures.get(reason) ?? "broken", `The provider ended its answer with "${reason}".`)
  state.finishReason = finishReason
  return undefined
}
