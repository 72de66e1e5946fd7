/**
 * Origin stamps on reasoning details. A signed or encrypted block is valid only for the model that made it, so a block
 * leaves with its origin in `id` (`<origin>#<native id>`), which every known client hands back, and returns only there.
 */
import type { AssistantMessage, ReasoningDetail } from "../domain/Conversation.ts"

const separator = "#"

/** `detail` marked as made by `origin`. */
export const stamp = (origin: string, detail: ReasoningDetail): ReasoningDetail => ({
  ...detail,
  id: `${origin}${separator}${typeof detail["id"] === "string" ? detail["id"] : ""}`
})

/** The blocks of a message that `origin` made, as it made them; blocks of other origins are left out. */
export const returning = (origin: string, message: AssistantMessage): ReadonlyArray<ReasoningDetail> =>
  message.reasoningDetails.flatMap((detail) => {
    const id = detail["id"]
    if (typeof id !== "string" || !id.startsWith(`${origin}${separator}`)) return []
    const native = id.slice(origin.length + separator.length)
    const { id: _stamped, ...block } = detail
    return [native === "" ? block : { ...block, id: native }]
  })
