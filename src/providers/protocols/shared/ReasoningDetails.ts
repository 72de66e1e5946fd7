/**
 * The origin of reasoning details. A signed or encrypted block is valid only for the model that made it, so the gateway
 * writes the origin into its `id` (`<origin>#<native id>`), which every known client hands back. Such a block is sent
 * to its origin again and to no other model.
 */
import { hash } from "node:crypto"

import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
import { nativeThinkingIn } from "../../../domain/NativeThinking.ts"
import { joinedDetails } from "../../../domain/ReasoningBlocks.ts"
import type { WireCall } from "../Protocol.ts"
import { asText } from "./Field.ts"

const separator = "#"

/** `detail`, marked as made by `origin`. Clients merge encrypted blocks that share an id, so each gets its own. */
export const stampOrigin = (origin: string, detail: ReasoningDetail): ReasoningDetail => ({
  ...detail,
  id: `${origin}${separator}${nativeIdOf(detail) ?? substituteIdOf(detail)}`
})

const nativeIdOf = ({ id }: ReasoningDetail): string | undefined =>
  typeof id === "string" && id !== "" ? id : undefined

/** It begins with the separator, as no native id does, so that it is recognised and removed when it comes back. */
const substituteIdOf = ({ data, type }: ReasoningDetail): string =>
  type === "reasoning.encrypted" ? `${separator}${shortHash(String(data))}` : ""

/**
 * The blocks of a message that `origin` made, joined of their pieces, with the ids it gave them. Blocks of other
 * origins are left out.
 */
export const detailsFrom = (origin: string, message: AssistantMessage): ReadonlyArray<ReasoningDetail> =>
  ownDetails(origin, message).map(({ id: native, ...block }) =>
    native === "" || native.startsWith(separator) ? block : { ...block, id: native }
  )

/** The same with the ids that the gateway wrote where the model gave none. */
const ownDetails = (origin: string, message: AssistantMessage): ReadonlyArray<ReasoningDetail & { id: string }> =>
  joinedDetails(message.reasoningDetails).flatMap((detail) =>
    isDetailFrom(origin, detail) ? [{ ...detail, id: detail.id.slice(origin.length + separator.length) }] : []
  )

/** True for a block that `origin` made. */
export const isDetailFrom = (
  origin: string,
  detail: ReasoningDetail
): detail is ReasoningDetail & { readonly id: string } => {
  const { id } = detail
  return typeof id === "string" && id.startsWith(`${origin}${separator}`)
}

/** Where in an answer a block of thinking stands. */
export interface ThinkingPosition {
  /** Characters of text before it. */
  readonly text: number
  /** Tool calls before it. */
  readonly calls: number
}

/** What the id of a block without a native one holds beside the position. */
interface DetailContent {
  /** What only the model can read. */
  readonly data?: unknown
  /** The hash of the text that the signature is for. */
  readonly textHash?: string
}

/** The id that the gateway gives a block which has none: its position, and the hash of what it holds or signs. */
export const substituteDetailId = (position: ThinkingPosition, { data, textHash }: DetailContent): string => {
  const at = position.text === 0 && position.calls === 0 ? "" : `@${position.text}.${position.calls}`
  const signed = textHash === undefined ? "" : `~${textHash}`
  if (data !== undefined) return `${separator}${shortHash(String(data))}${at}`
  return at === "" && signed === "" ? "" : `${separator}${at}${signed}`
}

const substituteIdPattern = /^#(?:[0-9a-f]{16})?(?:@(\d{1,9})\.(\d{1,6}))?(?:~(\w+))?$/

/** The hash of a signed text, which goes into the id of the piece that has the signature. */
export const signedTextHash = (text: string): string => shortHash(text)

const shortHash = (text: string): string => hash("sha256", text, "hex").slice(0, 16)

/** A block of thinking as Anthropic's and Bedrock's models make it: signed text, or data that only they can read. */
export type SignedThinking =
  | { readonly type: "text"; readonly text: string; readonly signature: string; readonly position: ThinkingPosition }
  | { readonly type: "redacted"; readonly data: string; readonly position: ThinkingPosition }

/** The same for a Claude, with what the client brought as Claude had signed it. */
export const claudeThinkingFrom = (
  { model, origin }: Pick<WireCall, "model" | "origin">,
  message: AssistantMessage
): ReadonlyArray<SignedThinking> => {
  const brought = model.ownedBy === "anthropic" ? message.reasoningDetails.flatMap(asNative) : []
  const own = signedThinkingFrom(origin, message)
  return brought.length === 0 ? own : [...own, ...brought].sort(byPosition)
}

const asNative = (detail: ReasoningDetail): ReadonlyArray<SignedThinking> => {
  const thinking = nativeThinkingIn(detail)
  return thinking === undefined ? [] : [thinking]
}

const byPosition = (one: SignedThinking, other: SignedThinking): number =>
  one.position.text - other.position.text || one.position.calls - other.position.calls

/**
 * The thinking in a message that `origin` accepts back. Text without a signature is refused, and so is a signature
 * beside another text than it was made for, so both are left out. Clients that join pieces may drop the id with the
 * hash; then there must at least be a text.
 */
export const signedThinkingFrom = (origin: string, message: AssistantMessage): ReadonlyArray<SignedThinking> =>
  ownDetails(origin, message).flatMap(({ data, id, signature, text, type }): ReadonlyArray<SignedThinking> => {
    const [, textBefore, callsBefore, textHash] = substituteIdPattern.exec(id) ?? []
    const position = { text: Number(textBefore ?? 0), calls: Number(callsBefore ?? 0) }
    if (type === "reasoning.encrypted" && typeof data === "string") return [{ type: "redacted", data, position }]
    if (type !== "reasoning.text" || typeof signature !== "string") return []
    const signed = asText(text) ?? ""
    const isWhole = textHash === undefined ? signed !== "" : textHash === signedTextHash(signed)
    return isWhole ? [{ type: "text", text: signed, signature, position }] : []
  })
