/**
 * The `encrypted_content` of a reasoning item: the reasoning blocks of the item with their signatures and encrypted
 * data, whichever model made them. It is opaque to clients, which hand it back with the conversation. It is not a
 * secret: it holds nothing that a chat answer would not show as `reasoning_details`.
 */
import { Result } from "effect"

import type { ReasoningDetail } from "../../domain/Conversation.ts"
import { parseJsonBody } from "../edge/JsonBody.ts"

/** The version stands first, so that a later form can be told from this one. */
const prefix = "tg1."

/** `null` for an item without blocks: nothing of it can be sent back to its model. */
export const encodedDetails = (details: ReadonlyArray<ReasoningDetail>): string | null =>
  details.length === 0 ? null : prefix + Buffer.from(JSON.stringify(details)).toString("base64url")

/**
 * The blocks of all reasoning items of a request, item by item. Content that another server encrypted has none, because
 * only that server can read it. Fails with the number of an item whose content begins like ours and is not, or of the
 * first one where all of them together hold more than a body may.
 */
export const decodedDetails = (
  contents: ReadonlyArray<string>
): Result.Result<ReadonlyArray<ReadonlyArray<ReasoningDetail>>, number> => {
  // They are parsed together, so that they share the limits of one body.
  const found = blocksIn(`[${contents.map(jsonIn).join(",")}]`, contents.length)
  if (found !== undefined) return Result.succeed(found)
  const bad = contents.findIndex((content) => blocksIn(`[${jsonIn(content)}]`, 1) === undefined)
  return Result.fail(Math.max(bad, 0))
}

const jsonIn = (content: string): string =>
  content.startsWith(prefix) ? Buffer.from(content.slice(prefix.length), "base64url").toString() : "[]"

const blocksIn = (json: string, count: number): ReadonlyArray<ReadonlyArray<ReasoningDetail>> | undefined => {
  const items = Result.getOrUndefined(parseJsonBody(json))
  return Array.isArray(items) && items.length === count && items.every(isList) ? items : undefined
}

const isList = (value: unknown): value is ReadonlyArray<ReasoningDetail> =>
  Array.isArray(value) &&
  value.every((detail) => typeof detail === "object" && detail !== null && !Array.isArray(detail))
