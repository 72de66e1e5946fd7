/**
 * Usage as Converse reports it. Its input count leaves out what was read from or written to a cache; the part that was
 * written for an hour stands beside the total. Thinking is a part of the output that is not counted by itself.
 */
import { count, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, asObjects, type Fields } from "../shared/Field.ts"
import { disjointUsage } from "../shared/response/DisjointUsage.ts"

/** The usage in a body or in the metadata of a stream, if there is one. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const usage = asObject(fields["usage"]) ?? {}
  return disjointUsage({
    input: asNumber(usage["inputTokens"]),
    // Some models report cached tokens only under names that end in `Count`.
    cacheRead: asNumber(usage["cacheReadInputTokens"]) ?? asNumber(usage["cacheReadInputTokenCount"]),
    cacheWrite: asNumber(usage["cacheWriteInputTokens"]) ?? asNumber(usage["cacheWriteInputTokenCount"]),
    cacheWrite1h: cacheWrite1hIn(usage),
    output: asNumber(usage["outputTokens"])
  })
}

const cacheWrite1hIn = (usage: Fields): number =>
  asObjects(usage["cacheDetails"])
    .filter(({ ttl }) => ttl === "1h")
    .reduce((sum, { inputTokens }) => sum + count(asNumber(inputTokens)), 0)
