/**
 * Filters over streamed text, for markers that may be split over chunks: stop sequences that the provider was not asked
 * to stop at, and `<think>` tags. Text that could still become a marker is held back; all other text passes at once.
 */

/** A filter for one text. It holds state: the text that is held back. */
export interface TextFilter {
  /** Takes the next piece of the text and returns what can be passed on. */
  readonly push: (text: string) => string
  /** Returns, at the end of the text, what is still held back. */
  readonly flush: () => string
}

export const passThrough: TextFilter = { push: (text) => text, flush: () => "" }

/** Drops the text from the first of `sequences` on, and calls `onStop` once when it finds one. */
export const stopAt = (sequences: ReadonlyArray<string>, onStop: (sequence: string) => void): TextFilter => {
  let held = ""
  let stopped = false
  const push = (text: string): string => {
    if (stopped) return ""
    const pending = held + text
    const found = sequences
      .map((sequence) => ({ sequence, start: pending.indexOf(sequence) }))
      .filter(({ start }) => start >= 0)
      .sort((a, b) => a.start - b.start)[0]
    if (found !== undefined) {
      stopped = true
      held = ""
      onStop(found.sequence)
      return pending.slice(0, found.start)
    }
    const length = partialMarkerLength(pending, sequences)
    held = pending.slice(pending.length - length)
    return pending.slice(0, pending.length - length)
  }
  return {
    push,
    flush: () => {
      const rest = held
      held = ""
      return rest
    }
  }
}

const openingTag = "<think>"
const closingTag = "</think>"

/**
 * Takes `<think>…</think>` off the start of a text and passes what is inside to `onReasoning`. White space around the
 * tags is dropped.
 */
export const withoutThinkTags = (onReasoning: (text: string) => void): TextFilter => {
  let position: "before tag" | "inside" | "after tag" | "content" = "before tag"
  let held = ""
  const beforeTag = (pending: string): string => {
    const start = pending.trimStart()
    if (start.startsWith(openingTag)) {
      position = "inside"
      return inside(start.slice(openingTag.length))
    }
    if (openingTag.startsWith(start)) {
      held = pending
      return ""
    }
    position = "content"
    return pending
  }
  const inside = (pending: string): string => {
    const end = pending.indexOf(closingTag)
    const length = end >= 0 ? pending.length - end : partialMarkerLength(pending, [closingTag])
    if (length < pending.length) onReasoning(pending.slice(0, pending.length - length))
    if (end < 0) {
      held = pending.slice(pending.length - length)
      return ""
    }
    position = "after tag"
    return afterTag(pending.slice(end + closingTag.length))
  }
  const afterTag = (pending: string): string => {
    const rest = pending.trimStart()
    if (rest !== "") position = "content"
    return rest
  }
  const steps = { "before tag": beforeTag, inside, "after tag": afterTag, content: (pending: string) => pending }
  return {
    push: (text) => {
      const pending = held + text
      held = ""
      return steps[position](pending)
    },
    flush: () => {
      const rest = held
      held = ""
      if (position !== "inside") return rest
      if (rest !== "") onReasoning(rest)
      return ""
    }
  }
}

/** The length of the longest end of `text` that one of `markers` begins with. */
const partialMarkerLength = (text: string, markers: ReadonlyArray<string>): number => {
  const longest = Math.min(text.length, Math.max(0, ...markers.map((marker) => marker.length - 1)))
  for (let length = longest; length > 0; length--) {
    const end = text.slice(-length)
    if (markers.some((marker) => marker.startsWith(end))) return length
  }
  return 0
}
