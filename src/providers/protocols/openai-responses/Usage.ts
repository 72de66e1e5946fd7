/** Usage as the Responses API reports it. Its totals include what was cached or reasoned. */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/**
 * The usage in a response object, if there is one. No prompt is empty, so zero for everything means that nothing was
 * counted; some responses that were cut short report that.
 */
export const usageIn = (fields: Fields): Usage | undefined => {
  const usage = asObject(fields["usage"]) ?? {}
  const prompt = asNumber(usage["input_tokens"]) ?? 0
  const completion = asNumber(usage["output_tokens"]) ?? 0
  if (prompt === 0 && completion === 0) return undefined
  const inputDetails = asObject(usage["input_tokens_details"]) ?? {}
  const outputDetails = asObject(usage["output_tokens_details"]) ?? {}
  return fromInclusive({
    prompt,
    completion,
    cacheRead: asNumber(inputDetails["cached_tokens"]) ?? 0,
    cacheWrite5m: asNumber(inputDetails["cache_write_tokens"]) ?? 0,
    reasoning: asNumber(outputDetails["reasoning_tokens"]) ?? 0
  })
}
