/**
 * Usage as Gemini reports it, in disjoint buckets. The prompt includes what was cached, but the candidates leave out
 * the thoughts; every chunk of a stream repeats the counts so far, so the last ones count.
 */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, asObjects, type Fields } from "../shared/Field.ts"

export const usageIn = (fields: Fields): Usage | undefined => {
  const usage = asObject(fields["usageMetadata"]) ?? {}
  const count = (key: string): number => asNumber(usage[key]) ?? 0
  if (asNumber(usage["promptTokenCount"]) === undefined && asNumber(usage["candidatesTokenCount"]) === undefined)
    return undefined
  return fromInclusive({
    prompt: count("promptTokenCount") + count("toolUsePromptTokenCount"),
    completion: count("candidatesTokenCount") + count("thoughtsTokenCount"),
    cacheRead: count("cachedContentTokenCount"),
    // Audio that was cached is billed as cached.
    audioInput: audioIn(usage["promptTokensDetails"]) - audioIn(usage["cacheTokensDetails"]),
    reasoning: count("thoughtsTokenCount")
  })
}

const audioIn = (details: unknown): number =>
  asObjects(details)
    .filter(({ modality }) => modality === "AUDIO")
    .reduce((sum, { tokenCount }) => sum + (asNumber(tokenCount) ?? 0), 0)
