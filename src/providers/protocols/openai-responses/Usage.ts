/** Usage as the Responses API reports it, in disjoint buckets. Its totals include what was cached or reasoned. */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** No prompt is empty: zero for all means that nothing was counted, as some answers that were cut short have it. */
export const usageIn = (response: Fields): Usage | undefined => {
  const usage = asObject(response["usage"]) ?? {}
  const prompt = asNumber(usage["input_tokens"]) ?? 0
  const completion = asNumber(usage["output_tokens"]) ?? 0
  if (prompt === 0 && completion === 0) return undefined
  const input = asObject(usage["input_tokens_details"]) ?? {}
  const output = asObject(usage["output_tokens_details"]) ?? {}
  return fromInclusive({
    prompt,
    completion,
    cacheRead: asNumber(input["cached_tokens"]) ?? 0,
    cacheWrite5m: asNumber(input["cache_write_tokens"]) ?? 0,
    reasoning: asNumber(output["reasoning_tokens"]) ?? 0
  })
}
