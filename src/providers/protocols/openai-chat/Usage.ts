/**
 * Usage as OpenAI and the servers that copy it report it, in disjoint buckets. Prompt counts include what was cached;
 * where the other numbers sit, and whether they are inside the totals, differs and is settled by the given total.
 */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** The usage of a body or chunk, wherever it is: on top, in Groq's own member, or in the choice. */
export const usageIn = (fields: Fields, choice: Fields | undefined): Usage | undefined => {
  const reported = asObject(fields["usage"]) ?? asObject(asObject(fields["x_groq"])?.["usage"])
  const usage = reported ?? asObject(choice?.["usage"])
  return usage && usageOf(usage)
}

const usageOf = (usage: Fields): Usage | undefined => {
  const prompt = asNumber(usage["prompt_tokens"])
  const completion = asNumber(usage["completion_tokens"])
  if (prompt === undefined && completion === undefined) return undefined
  const input = asObject(usage["prompt_tokens_details"]) ?? {}
  const output = asObject(usage["completion_tokens_details"]) ?? {}
  const audio = asNumber(input["audio_tokens"]) ?? 0
  const reasoning = asNumber(output["reasoning_tokens"]) ?? 0
  const beside = (asNumber(usage["total_tokens"]) ?? 0) - (prompt ?? 0) - (completion ?? 0)
  return fromInclusive({
    // Mistral counts audio beside the prompt and xAI counts reasoning beside the completion; the total tells.
    prompt: (prompt ?? 0) + (audio > 0 && beside === audio && beside !== reasoning ? audio : 0),
    completion: (completion ?? 0) + (reasoning > 0 && beside === reasoning ? reasoning : 0),
    cacheRead:
      asNumber(input["cached_tokens"]) ??
      asNumber(usage["prompt_cache_hit_tokens"]) ??
      asNumber(usage["cached_tokens"]) ??
      asNumber(usage["num_cached_tokens"]) ??
      0,
    cacheWrite5m: asNumber(input["cache_write_tokens"]) ?? 0,
    audioInput: audio,
    reasoning
  })
}
