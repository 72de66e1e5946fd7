/**
 * Joins the pieces of reasoning blocks. A stream brings a block in pieces, and many clients send the pieces back as
 * they came; some get the whole block at the end of the stream as well, and send both. The work grows with the number
 * of pieces and no faster, because anybody may send a hundred thousand of them.
 */
import type { ReasoningDetail } from "./Conversation.ts"

/** Whole blocks of the pieces in `details`, in the order in which they began. */
export const joinedDetails = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<ReasoningDetail> => {
  const blocks = detailJoiner()
  for (const detail of details) blocks.append(detail)
  return blocks.joined
}

/** Holds the blocks of one message so far. */
export interface DetailJoiner {
  /** Adds a detail as a block of its own, or to the block that it continues or repeats. */
  readonly append: (detail: ReasoningDetail) => void
  /** The blocks so far, in the order in which they began. */
  readonly joined: Array<ReasoningDetail>
}

/** Blocks with one type and one index that a piece is compared with, the last ones first. No model has so many. */
const maxCompared = 16

export const detailJoiner = (): DetailJoiner => {
  const joined: Array<ReasoningDetail> = []
  /** Positions in `joined`, by what pieces of one block have in common. */
  const places = new Map<unknown, Map<unknown, Array<number>>>()
  /** Blocks that are not what was appended but copies, which may be changed. */
  const copies = new Map<number, JoinedBlock>()

  const placesLike = ({ index, type }: ReasoningDetail): Array<number> => {
    const ofType = places.get(type) ?? new Map<unknown, Array<number>>()
    const found = ofType.get(index) ?? []
    ofType.set(index, found)
    places.set(type, ofType)
    return found
  }

  return {
    joined,
    append: (detail) => {
      const candidates = placesLike(detail)
      const at = candidates
        .slice(-maxCompared)
        .findLast((place) => joined[place] !== undefined && belongTogether(joined[place], detail))
      const earlier = at === undefined ? undefined : joined[at]
      if (at === undefined || earlier === undefined) {
        candidates.push(joined.length)
        joined.push(detail)
        return
      }
      const member = memberOf.get(earlier["type"])
      if (member === undefined || isSigned(earlier)) {
        copies.delete(at)
        joined[at] = detail
        return
      }
      // A copy of all members for every piece would take as long as there are members, times pieces.
      const block: JoinedBlock = copies.get(at) ?? { ...earlier }
      const text = textIn(block[member]) + textIn(detail[member])
      Object.assign(block, detail, { [member]: text })
      copies.set(at, block)
      joined[at] = block
    }
  }
}

type JoinedBlock = { -readonly [Member in keyof ReasoningDetail]: ReasoningDetail[Member] }

/** The member of each type of block whose text comes in pieces. */
const memberOf: ReadonlyMap<unknown, "text" | "summary"> = new Map([
  ["reasoning.text", "text"],
  ["reasoning.summary", "summary"]
])

const textIn = (value: unknown): string => (typeof value === "string" ? value : "")

const isSigned = ({ signature }: ReasoningDetail): boolean => typeof signature === "string" && signature !== ""

/**
 * True for pieces of one block, which their type, index and id identify; the id of the last piece may be longer. A
 * block of text ends with its signature, so what follows that is another block, or the same one as a whole.
 */
const belongTogether = (earlier: ReasoningDetail, next: ReasoningDetail): boolean => {
  const { data, id, index, signature, text, type } = earlier
  if (type !== next["type"] || index === undefined || index === null || index !== next["index"]) return false
  if (!memberOf.has(type)) return typeof id === "string" && id === next["id"] && data === next["data"]
  if (id !== next["id"] && !(typeof id === "string" && textIn(next["id"]).startsWith(id))) return false
  return !isSigned(earlier) || (signature === next["signature"] && (textIn(next["text"]) !== "" || textIn(text) === ""))
}
