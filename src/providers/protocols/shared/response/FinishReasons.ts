/**
 * The finish reasons of a protocol, as a table of the words that providers use for each reason of OpenAI's. A word that
 * is in no table is read for what it means, and is `stop` when that is unknown: the answer has come to its end, and a
 * client is served better by it than by an error. The event that ends the answer carries such a word, to be logged.
 */
import type { FinishReason } from "../../../../domain/Completion.ts"
import type { Failure } from "../../../../domain/Failure.ts"
import { failureOfKind } from "../errors/ErrorClassifier.ts"
import type { FailureKind } from "../errors/FailureKind.ts"
import { lookupTable, type WordsByKey } from "../LookupTable.ts"
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

/** What words that no table knows mean for an answer. The first that matches decides. */
const hints: ReadonlyArray<readonly [RegExp, FinishReason | "failed"]> = [
  [/error|fail|malformed|cancel|abort|time_?out/i, "failed"],
  [
    /filter|safety|sensitiv|refus|prohibit|block|moderat|policy|guard|censor|violat|recitation|inspection/i,
    "content_filter"
  ],
  [/length|max_|limit|truncat|exceed|window/i, "length"],
  [/tool|function/i, "tool_calls"]
]

/** The reason that an unknown word stands for. A word of failure stands for none. */
export const unknownFinishReason = (
  state: ResponseState,
  word: string,
  otherwise: FinishReason
): FinishReason | undefined => {
  const hint = hints.find(([pattern]) => pattern.test(word))?.[1] ?? otherwise
  if (hint === "failed") return undefined
  state.events.setUnknownReason(word)
  return hint
}

/** Reads a finish reason into the state. A chunk without one changes nothing. */
export const readFinishReason = (
  state: ResponseState,
  { failures, reasons }: FinishReasons,
  reason: string | undefined
): Failure | undefined => {
  if (reason === undefined) return undefined
  const failure = failures.get(reason)
  const finishReason =
    failure === undefined ? (reasons.get(reason) ?? unknownFinishReason(state, reason, "stop")) : undefined
  if (finishReason === undefined)
    return failureOfKind(failure ?? "broken", `The provider ended its answer with "${reason}".`)
  state.finishReason = finishReason
  return undefined
}
