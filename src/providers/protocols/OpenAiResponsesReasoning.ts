/**
 * Reasoning items as the blocks that clients hold, and back. An item is sealed in its `encrypted_content` and is worth
 * nothing without it; it goes back word for word to the place it had among the outputs, or not at all.
 */
import type { DialectName } from "../../catalog/Provider.ts"
import type { AssistantMessage, ReasoningDetail } from "../../domain/Conversation.ts"
import { returning } from "../ReasoningDetails.ts"
import { asText } from "./Field.ts"
import type { Json } from "./Protocol.ts"

export interface ReasoningItem {
  /** Tells the items of one answer apart. */
  readonly id: string
  /** How many outputs came before it, where all text counts as one and every tool call as one. */
  readonly place: number
  readonly summaries: ReadonlyArray<string>
  /** Reasoning in full, which models with open weights show. */
  readonly thoughts: ReadonlyArray<string>
  readonly encrypted: string | undefined
}

const formats: { readonly [Name in DialectName]?: string } = {
  azure: "azure-openai-responses-v1",
  xai: "xai-responses-v1"
}

/** The blocks of an item. Each has an index of its own, counted from `firstIndex`: none of them continues another. */
export const detailsOf = (
  item: ReasoningItem,
  dialect: DialectName,
  firstIndex: number
): ReadonlyArray<ReasoningDetail> => {
  const blocks: ReadonlyArray<Json> = [
    ...item.summaries.map((summary) => ({ type: "reasoning.summary", summary })),
    ...item.thoughts.map((text) => ({ type: "reasoning.text", text })),
    ...(item.encrypted === undefined ? [] : [{ type: "reasoning.encrypted", data: item.encrypted }])
  ]
  const id = item.place === 0 ? item.id : `${item.id}@${item.place}`
  const format = formats[dialect] ?? "openai-responses-v1"
  return blocks.map((block, at) => ({ ...block, id, format, index: firstIndex + at }))
}

/** The items that `origin` can read again, with the place each had. */
export const echoedItems = (
  origin: string,
  message: AssistantMessage
): ReadonlyArray<{ readonly place: number; readonly item: Json }> => {
  const details = returning(origin, message)
  return details.flatMap(({ data, id, type }) => {
    if (type !== "reasoning.encrypted" || asText(data) === undefined) return []
    const summary = details
      .filter((detail) => detail["type"] === "reasoning.summary" && detail["id"] === id)
      .map((detail) => ({ type: "summary_text", text: asText(detail["summary"]) ?? "" }))
    return [{ place: placeIn(id), item: { type: "reasoning", summary, encrypted_content: data } }]
  })
}

const placeIn = (id: unknown): number => Number(/@(\d{1,6})$/.exec(asText(id) ?? "")?.[1] ?? 0)
