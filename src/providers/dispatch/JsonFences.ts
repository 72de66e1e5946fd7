/** Code fences, which models like to put around JSON. */

const openingFence = /^```(?:[\w-]*\s+|(?=[{["]))/
/** What may still become an opening fence. */
const openingFenceSoFar = /^`{0,3}$|^```[\w-]*\s*$/
const closingFence = /^\s*```\s*$/
/** Characters that are looked at for a fence. Longer ones are text. */
const maxFenceLength = 64

/**
 * The text between code fences that stand around all of it, or the text itself, without the white space around it. It
 * is taken apart by position: a pattern for the whole would take minutes for an answer of some thousand line breaks.
 */
export const withoutFences = (text: string): string => {
  const trimmed = text.trim()
  const opening = openingFence.exec(trimmed.slice(0, maxFenceLength))?.[0]
  if (opening === undefined) return trimmed
  return trimmed.slice(opening.length, trimmed.endsWith("```") ? -"```".length : undefined).trim()
}

/** Takes code fences off a text that comes in pieces. It holds state: text that may belong to a fence. */
export interface FenceFilter {
  /** Takes the next piece and returns what is no fence. */
  readonly push: (text: string) => string
  /** Returns, at the end of the text, what is still held back. */
  readonly flush: () => string
}

export const fenceFilter = (): FenceFilter => {
  let position: "start" | "fenced" | "bare" = "start"
  let held = ""
  const fenced = (pending: string): string => {
    const kept = endOfContent(pending)
    held = pending.slice(kept)
    return pending.slice(0, kept)
  }
  return {
    push: (text) => {
      if (position === "bare") return text
      const pending = held + text
      held = ""
      if (position === "fenced") return fenced(pending)
      // White space before JSON means nothing, and a byte order mark, which counts as such, is refused by parsers.
      const start = pending.trimStart()
      const opening = openingFence.exec(start.slice(0, maxFenceLength))?.[0]
      if (start.length < maxFenceLength && openingFenceSoFar.test(start)) {
        held = start
        return ""
      }
      position = opening === undefined ? "bare" : "fenced"
      return opening === undefined ? start : fenced(start.slice(opening.length))
    },
    flush: () => {
      const rest = held
      held = ""
      return position === "fenced" && closingFence.test(rest) ? "" : rest
    }
  }
}

/** Where white space and back quotes begin that may be the closing fence. */
const endOfContent = (text: string): number => {
  const least = Math.max(0, text.length - maxFenceLength)
  let end = text.length
  while (end > least && /[\s`]/.test(text.charAt(end - 1))) end--
  return end
}
