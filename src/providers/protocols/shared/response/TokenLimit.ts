/**
 * A limit on output that the provider could not be asked for. The client gets and pays no more than it allowed; what
 * the provider made beyond that is the gateway's to pay.
 */
import { textTokens } from "../../../../domain/TokenCount.ts"
import type { Usage } from "../../../../domain/Usage.ts"

/** Applied to one answer. It holds the text so far, which is as short as the limit. */
export interface TokenLimit {
  /** As much of the next piece of text as the limit allows. */
  readonly cut: (text: string) => string
  /** The provider's usage without the output beyond the limit. */
  readonly charged: (usage: Usage) => Usage
  /** True when there was more output than the limit allows. */
  readonly isReached: () => boolean
}

/** `most`: tokens, visible and reasoning tokens together. Reasoning is not cut, but counts in the charge. */
export const tokenLimit = (most: number): TokenLimit => {
  let kept = ""
  let reached = false
  return {
    cut: (text) => {
      if (reached) return ""
      const fits = fittingLength(kept, text, most)
      reached = fits < text.length
      const piece = text.slice(0, fits)
      kept += piece
      return piece
    },
    charged: (usage) => {
      reached ||= usage.output > most
      const output = Math.min(usage.output, most)
      return { ...usage, output, reasoning: Math.min(usage.reasoning, output) }
    },
    isReached: () => reached
  }
}

/** How many characters of `text` fit after `kept`: by bisection, because a token has no fixed length. */
const fittingLength = (kept: string, text: string, most: number): number => {
  if (textTokens(kept + text) <= most) return text.length
  let [fits, exceeds] = [0, text.length]
  while (exceeds - fits > 1) {
    const middle = Math.floor((fits + exceeds) / 2)
    if (textTokens(kept + text.slice(0, middle)) <= most) fits = middle
    else exceeds = middle
  }
  // A character outside the basic plane is not cut in two.
  return (text.codePointAt(fits - 1) ?? 0) > 0xffff ? fits - 1 : fits
}
