/**
 * Reasoning details inside the opaque members of Anthropic's thinking blocks. A client keeps `signature` and `data` as
 * they are and sends them back, so they carry whatever the model that answered needs to go on from its own thinking,
 * whichever vendor made it.
 *
 * The form is a versioned prefix and, in base64url, a JSON array of details. Text that is in the block's own `thinking`
 * is not written again: its place in there is.
 */
import { Result } from "effect"

import type { ReasoningDetail } from "../../domain/Conversation.ts"
import { parseJsonBody } from "../edge/JsonBody.ts"

const prefix = "tg1."
/** In characters. Encrypted reasoning of one turn takes some ten thousand. */
const maxLength = 4 * 1024 * 1024
/** Models make one block of thinking from a handful. */
const maxDetails = 2_000

/** The members of a detail that hold readable text. */
const textMembers = ["text", "summary"] as const

/** Stands for a text that the block's `thinking` has from `start`, `length` characters long. */
type TextPlace = readonly [start: number, length: number]

/** What a thinking block with this text is signed with. */
export const signatureOf = (details: ReadonlyArray<ReasoningDetail>, thinking = ""): string => {
  let cursor = 0
  const placed = details.map((detail): ReasoningDetail => {
    const member = textMembers.find((name) => typeof detail[name] === "string" && detail[name] !== "")
    const text = member === undefined ? undefined : detail[member]
    if (member === undefined || typeof text !== "string") return detail
    const start = thinking.indexOf(text, cursor)
    if (start < 0) return detail
    cursor = start + text.length
    return { ...detail, [member]: [start, text.length] satisfies TextPlace }
  })
  return prefix + Buffer.from(JSON.stringify(placed)).toString("base64url")
}

/** True for what `signatureOf` made, whole or damaged; anything else was signed by somebody else. */
export const isOwnSignature = (signature: string): boolean => signature.startsWith(prefix)

/** The details in a signature, or `undefined` if it is damaged. */
export const detailsIn = (signature: string, thinking = ""): ReadonlyArray<ReasoningDetail> | undefined => {
  if (signature.length > maxLength) return undefined
  const written = Buffer.from(signature.slice(prefix.length), "base64url").toString()
  const details = Result.getOrElse(parseJsonBody(written), () => undefined)
  if (!Array.isArray(details) || details.length > maxDetails || !details.every(isDetail)) return undefined
  return details.map((detail): ReasoningDetail => {
    const member = textMembers.find((name) => isPlace(detail[name]))
    const place = member === undefined ? undefined : detail[member]
    return member !== undefined && isPlace(place)
      ? { ...detail, [member]: thinking.slice(place[0], place[0] + place[1]) }
      : detail
  })
}

const isDetail = (value: unknown): value is ReasoningDetail =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isPlace = (value: unknown): value is TextPlace =>
  Array.isArray(value) && value.length === 2 && value.every((number) => Number.isSafeInteger(number) && number >= 0)
