/**
 * Joins the pieces of reasoning blocks. A stream brings a block in pieces, and many clients send the pieces back as
 * they came; some get the whole block at the end of the stream as well, and send both.
 */
import type { ReasoningDetail } from "./Conversation.ts"

/** Whole blocks of the pieces in `details`, in the order in which they began. */
export const joinedDetails = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<ReasoningDetail> => {
  const joined: Array<ReasoningDetail> = []
  for (const detail of details) appendDetail(joined, detail)
  return joined
}

/** Adds a detail to `details`, or to the block in there that it continues or repeats. */
export const appendDetail = (details: Array<ReasoningDetail>, detail: ReasoningDetail): void => {
  const at = details.findLastIndex((earlier) => belongTogether(earlier, detail))
  const earlier = details[at]
  const member = earlier && memberOf[String(earlier["type"])]
  if (earlier === undefined) details.push(detail)
  else if (member === undefined || isSigned(earlier)) details[at] = detail
  else details[at] = { ...earlier, ...detail, [member]: textIn(earlier[member]) + textIn(detail[member]) }
}

/** The member of each type of block whose text comes in pieces. */
const memberOf: { readonly [type: string]: "text" | "summary" } = {
  "reasoning.text": "text",
  "reasoning.summary": "summary"
}

const textIn = (value: unknown): string => (typeof value === "string" ? value : "")

const isSigned = ({ signature }: ReasoningDetail): boolean => typeof signature === "string" && signature !== ""

/**
 * True for pieces of one block, which their type, index and id identify; the id of the last piece may be longer. A
 * block of text ends with its signature, so what follows that is another block, or the same one as a whole.
 */
const belongTogether = (earlier: ReasoningDetail, next: ReasoningDetail): boolean => {
  const { data, id, index, signature, text, type } = earlier
  if (type !== next["type"] || index === undefined || index === null || index !== next["index"]) return false
  if (memberOf[String(type)] === undefined) return typeof id === "string" && id === next["id"] && data === next["data"]
  if (id !== next["id"] && !(typeof id === "string" && textIn(next["id"]).startsWith(id))) return false
  return !isSigned(earlier) || (signature === next["signature"] && (textIn(next["text"]) !== "" || textIn(text) === ""))
}
