/**
 * Origin stamps on reasoning details. A signed or encrypted block is valid only for the model that made it, so a block
 * leaves with its origin in `id` (`<origin>#<native id>`), which every known client hands back, and returns only there.
 */
import { hash } from "node:crypto"

import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"

const separator = "#"

/** `detail` marked as made by `origin`. Clients take encrypted blocks of one id for one block, so each gets its own. */
export const stampOrigin = (origin: string, detail: ReasoningDetail): ReasoningDetail => ({
  ...detail,
  id: `${origin}${separator}${nativeIdOf(detail) ?? madeUpIdOf(detail)}`
})

const nativeIdOf = ({ id }: ReasoningDetail): string | undefined =>
  typeof id === "string" && id !== "" ? id : undefined

/** No native id begins with the separator: by it a made-up one is known, and left out again. */
const madeUpIdOf = ({ data, type }: ReasoningDetail): string =>
  type === "reasoning.encrypted" ? `${separator}${hash("sha256", String(data), "hex").slice(0, 16)}` : ""

/** The blocks of a message that `origin` made, as it made them; blocks of other origins are left out. */
export const detailsFrom = (origin: string, message: AssistantMessage): ReadonlyArray<ReasoningDetail> =>
  message.reasoningDetails.flatMap((detail) => {
    const id = detail["id"]
    if (typeof id !== "string" || !id.startsWith(`${origin}${separator}`)) return []
    const native = id.slice(origin.length + separator.length)
    const { id: _stamped, ...block } = detail
    return [native === "" || native.startsWith(separator) ? block : { ...block, id: native }]
  })
