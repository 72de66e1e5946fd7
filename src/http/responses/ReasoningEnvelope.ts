/**
 * The `encrypted_content` of a reasoning item: the reasoning blocks of the item with their signatures and encrypted
 * data, whichever model made them. It is opaque to clients, which hand it back with the conversation. It is not a
 * secret: it holds nothing that a chat answer would not show as `reasoning_details`.
 */
import { Result } from "effect"

import type { ReasoningDetail } from "../../domain/Conversation.ts"

/** The version stands first, so that a later form can be told from this one. */
const prefix = "tg1."

/** In characters; the reasoning of one item takes some thousands. */
const maxLength = 4_194_304
/** Models make a handful in one item. */
const maxDetails = 1_000

/** `null` for an item without blocks: nothing of it can be sent back to its model. */
export const encodedDetails = (details: ReadonlyArray<ReasoningDetail>): string | null =>
  details.length === 0 ? null : prefix + Buffer.from(JSON.stringify(details)).toString("base64url")

/**
 * The blocks of a reasoning item. Content that another server encrypted has none, because only that server can read it;
 * `undefined` for content that begins like ours and is not.
 */
export const decodedDetails = (content: string): ReadonlyArray<ReasoningDetail> | undefined => {
  if (!content.startsWith(prefix)) return []
  if (content.length > maxLength) return undefined
  const text = Buffer.from(content.slice(prefix.length), "base64url").toString()
  const parsed = Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
  if (!Array.isArray(parsed) || parsed.length > maxDetails) return undefined
  return parsed.every(isDetail) ? parsed : undefined
}

const isDetail = (value: unknown): value is ReasoningDetail =>
  typeof value === "object" && value !== null && !Array.isArray(value)
