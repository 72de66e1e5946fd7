/**
 * Usage as OpenAI and the servers that copy it report it. The prompt includes what was cached. Whether audio and
 * reasoning are included in their totals differs between servers, and only `total_tokens` shows it.
 */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** The usage of a body or chunk, wherever it stands: on top, in Groq's own member, or in the choice. */
export const usageIn = (fields: Fields, choice: Fields | undefined): Usage | undefined => {
  const onTop = asObject(fields["usage"]) ?? asObject(asObject(fields["x_groq"])?.["usage"])
  const usage = onTop ?? asObject(choice?.["usage"])
  return usage && usageOf(usage)
}

const usageOf = (usage: Fields): Usage | undefined => {
  const prompt = asNumber(usage["prompt_tokens"])
  const completion = asNumber(usage["completion_tokens"])
  if (prompt === undefined && completion === undefined) return undefined
  const promptDetails = asObject(usage["prompt_tokens_details"]) ?? {}
  const completionDetails = asObject(usage["completion_tokens_details"]) ?? {}
  const audio = asNumber(promptDetails["audio_tokens"]) ?? 0
  const reasoning = asNumber(completionDetails["reasoning_tokens"]) ?? 0
  // Mistral counts audio beside the prompt, and xAI counts reasoning beside the completion.
  const uncounted = (asNumber(usage["total_tokens"]) ?? 0) - (prompt ?? 0) - (completion ?? 0)
  return fromInclusive({
    prompt: (prompt ?? 0) + (audio > 0 && uncounted === audio && uncounted !== reasoning ? audio : 0),
    completion: (completion ?? 0) + (reasoning > 0 && uncounted === reasoning ? reasoning : 0),
    cacheRead:
      asNumber(promptDetails["cached_tokens"]) ??
      asNumber(usage["prompt_cache_hit_tokens"]) ??
      asNumber(usage["cached_tokens"]) ??
      asNumber(usage["num_cached_tokens"]) ??
      0,
    cacheWrite5m: asNumber(promptDetails["cache_write_tokens"]) ?? 0,
    audioInput: audio,
    reasoning
  })
}
