/**
 * Marks in streamed text that may be cut over chunks: stop sequences a provider does not know, and `<think>` tags. Text
 * that could still become a mark is held back, everything else passes at once.
 */

/** The length of the longest end of `text` with which one of `marks` begins. */
const heldBack = (text: string, marks: ReadonlyArray<string>): number => {
  const longest = Math.min(text.length, Math.max(0, ...marks.map((mark) => mark.length - 1)))
  for (let length = longest; length > 0; length--) {
    const end = text.slice(-length)
    if (marks.some((mark) => mark.startsWith(end))) return length
  }
  return 0
}

/** Text in, text out, and the rest at the end. */
export interface TextFilter {
  readonly push: (text: string) => string
  readonly flush: () => string
}

export const passing: TextFilter = { push: (text) => text, flush: () => "" }

/** Ends the text before the first of `sequences`; what comes after it is swallowed. */
export const cutAt = (sequences: ReadonlyArray<string>, onCut: () => void): TextFilter => {
  let held = ""
  let cut = false
  const push = (text: string): string => {
    if (cut) return ""
    const seen = held + text
    const starts = sequences.map((sequence) => seen.indexOf(sequence)).filter((start) => start >= 0)
    if (starts.length > 0) {
      cut = true
      held = ""
      onCut()
      return seen.slice(0, Math.min(...starts))
    }
    const length = heldBack(seen, sequences)
    held = seen.slice(seen.length - length)
    return seen.slice(0, seen.length - length)
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

const opening = "<think>"
const closing = "</think>"

/** Splits `<think>…</think>` at the start of a text from what follows; the thinking goes to `onThought`. */
export const withoutThinking = (onThought: (text: string) => void): TextFilter => {
  let state: "before" | "inside" | "after start" | "outside" = "before"
  let held = ""
  const before = (seen: string): string => {
    const start = seen.trimStart()
    if (start.startsWith(opening)) {
      state = "inside"
      return inside(start.slice(opening.length))
    }
    if (opening.startsWith(start)) {
      held = seen
      return ""
    }
    state = "outside"
    return seen
  }
  const inside = (seen: string): string => {
    const end = seen.indexOf(closing)
    const length = end >= 0 ? seen.length - end : heldBack(seen, [closing])
    if (length < seen.length) onThought(seen.slice(0, seen.length - length))
    if (end < 0) {
      held = seen.slice(seen.length - length)
      return ""
    }
    state = "after start"
    return afterStart(seen.slice(end + closing.length))
  }
  const afterStart = (seen: string): string => {
    const rest = seen.trimStart()
    if (rest !== "") state = "outside"
    return rest
  }
  const steps = { before, inside, "after start": afterStart, outside: (seen: string) => seen }
  return {
    push: (text) => {
      const seen = held + text
      held = ""
      return steps[state](seen)
    },
    flush: () => {
      const rest = held
      held = ""
      if (state !== "inside") return rest
      if (rest !== "") onThought(rest)
      return ""
    }
  }
}
