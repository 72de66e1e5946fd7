/**
 * Reasoning items as the reasoning details that clients hold, and back. The provider reads an item again only from its
 * `encrypted_content`, so an item without it does not go back. One that has it goes back unchanged, to the position it
 * had among the outputs.
 */
import type { DialectName } from "../../../catalog/Provider.ts"
import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
import { asText } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import type { ReasoningItem } from "./Body.ts"
import { isOrderDetail } from "./OutputOrder.ts"

const formats: { readonly [Name in DialectName]?: string } = {
  azure: "azure-openai-responses-v1",
  xai: "xai-responses-v1"
}

/** Identifies a reasoning item: all details of one item carry the same members, and no other item's do. */
export interface ReasoningItemRef {
  /** `<item id>`, or `<item id>@<position>` where outputs came before the item. */
  readonly id: string
  readonly format: string
}

/** The format by which clients know the reasoning details of a server. */
export const reasoningFormat = (dialect: DialectName): string => formats[dialect] ?? "openai-responses-v1"

/** `position`: how many outputs came before the item, where all text counts as one and every tool call as one. */
export const reasoningItemRef = (id: string, position: number, dialect: DialectName): ReasoningItemRef => ({
  id: position === 0 ? id : `${id}@${position}`,
  format: reasoningFormat(dialect)
})

/** A piece of a summary. Clients join pieces that have the same index. */
export const summaryDetail = (item: ReasoningItemRef, index: number, summary: string): ReasoningDetail => ({
  type: "reasoning.summary",
  summary,
  ...item,
  index
})

/** A piece of the reasoning itself, which models with open weights show. */
export const reasoningTextDetail = (item: ReasoningItemRef, index: number, text: string): ReasoningDetail => ({
  type: "reasoning.text",
  text,
  ...item,
  index
})

/** The whole item, readable by the provider alone. */
export const encryptedDetail = (item: ReasoningItemRef, index: number, data: string): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data,
  ...item,
  index
})

/** The items of `message` that `origin` can read again, with the position that each had among the outputs. */
export const returnedReasoningItems = (
  origin: string,
  message: AssistantMessage
): ReadonlyArray<{ readonly id: unknown; readonly position: number; readonly item: ReasoningItem }> => {
  const details = detailsFrom(origin, message).filter((detail) => !isOrderDetail(detail))
  const summaries = summariesIn(details)
  return details.flatMap(({ data, id, type }) => {
    const encrypted = asText(data)
    if (type !== "reasoning.encrypted" || encrypted === undefined) return []
    const summary = Array.from(summaries.get(id)?.values() ?? [], (text) => ({ type: "summary_text", text }) as const)
    // One item's summary goes back once.
    summaries.delete(id)
    const item: ReasoningItem = { type: "reasoning", summary, encrypted_content: encrypted }
    return [{ id, position: positionIn(id), item }]
  })
}

/** The texts of each item's summary, by the item's id and their index. */
const summariesIn = (details: ReadonlyArray<ReasoningDetail>): Map<unknown, Map<unknown, string>> => {
  const items = new Map<unknown, Map<unknown, string>>()
  for (const { id, index, summary, type } of details) {
    if (type !== "reasoning.summary") continue
    const texts = items.get(id) ?? new Map<unknown, string>()
    texts.set(index, (texts.get(index) ?? "") + (asText(summary) ?? ""))
    items.set(id, texts)
  }
  return items
}

const positionIn = (id: unknown): number => Number(/@(\d{1,6})$/.exec(asText(id) ?? "")?.[1] ?? 0)
