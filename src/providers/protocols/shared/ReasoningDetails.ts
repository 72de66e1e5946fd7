/**
 * The origin of reasoning details. A signed or encrypted block is valid only for the model that made it, so the gateway
 * writes the origin into its `id` (`<origin>#<native id>`), which every known client hands back. Such a block is sent
 * to its origin again and to no other model.
 */
import { hash } from "node:crypto"

import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
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
  type === "reasoning.encrypted" ? `${separator}${hash("sha256", String(data), "hex").slice(0, 16)}` : ""

/** The blocks of a message that `origin` made, with the ids it gave them. Blocks of other origins are left out. */
export const detailsFrom = (origin: string, message: AssistantMessage): ReadonlyArray<ReasoningDetail> =>
  message.reasoningDetails.flatMap((detail) => {
    const id = detail["id"]
    if (typeof id !== "string" || !id.startsWith(`${origin}${separator}`)) return []
    const native = id.slice(origin.length + separator.length)
    const { id: _stamped, ...block } = detail
    return [native === "" || native.startsWith(separator) ? block : { ...block, id: native }]
  })

/** A block of thinking as Anthropic's and Bedrock's models make it: signed text, or data that only they can read. */
export type SignedThinking =
  | { readonly type: "text"; readonly text: string; readonly signature: string }
  | { readonly type: "redacted"; readonly data: string }

/** The thinking in a message that `origin` accepts back. Text without a signature is refused, so it is left out. */
export const signedThinkingFrom = (origin: string, message: AssistantMessage): ReadonlyArray<SignedThinking> =>
  detailsFrom(origin, message).flatMap(({ data, signature, text, type }): ReadonlyArray<SignedThinking> => {
    if (type === "reasoning.encrypted" && typeof data === "string") return [{ type: "redacted", data }]
    return type === "reasoning.text" && typeof signature === "string"
      ? [{ type: "text", text: asText(text) ?? "", signature }]
      : []
  })
