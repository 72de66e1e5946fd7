/** Usage as the Responses API reports it. Its totals include what was cached or reasoned. */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** The usage in a response object, if there is one. Zero for everything is what some cut short responses report. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const usage = asObject(fields["usage"]) ?? {}
  const prompt = asNumber(usage["input_tokens"])
  const completion = asNumber(usage["output_tokens"])
  if (prompt === undefined && completion === undefined) return undefined
  const inputDetails = asObject(usage["input_tokens_details"]) ?? {}
  const outputDetails = asObject(usage["output_tokens_details"]) ?? {}
  return fromInclusive({
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    cacheRead: asNumber(inputDetails["cached_tokens"]) ?? 0,
    cacheWrite5m: asNumber(inputDetails["cache_write_tokens"]) ?? 0,
    reasoning: asNumber(outputDetails["reasoning_tokens"]) ?? 0
  })
}
