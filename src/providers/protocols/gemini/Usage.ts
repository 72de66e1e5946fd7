/**
 * Usage as Gemini reports it. The prompt includes what was read from a cache, but the candidates leave out the
 * thoughts. Every chunk of a stream repeats the counts so far, so the last ones count.
 */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, asObjects, type Fields } from "../shared/Field.ts"

/** The usage in a body or chunk, if there is one. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const usage = asObject(fields["usageMetadata"]) ?? {}
  const count = (key: string): number => asNumber(usage[key]) ?? 0
  if (asNumber(usage["promptTokenCount"]) === undefined && asNumber(usage["candidatesTokenCount"]) === undefined)
    return undefined
  return fromInclusive({
    prompt: count("promptTokenCount") + count("toolUsePromptTokenCount"),
    completion: count("candidatesTokenCount") + count("thoughtsTokenCount"),
    cacheRead: count("cachedContentTokenCount"),
    // Cached audio is billed as cached, not as audio.
    audioInput: audioTokensIn(usage["promptTokensDetails"]) - audioTokensIn(usage["cacheTokensDetails"]),
    reasoning: count("thoughtsTokenCount")
  })
}

const audioTokensIn = (details: unknown): number =>
  asObjects(details)
    .filter(({ modality }) => modality === "AUDIO")
    .reduce((sum, { tokenCount }) => sum + (asNumber(tokenCount) ?? 0), 0)
