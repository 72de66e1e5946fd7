/**
 * Reasoning items as the blocks that clients hold, and back. An item is sealed in its `encrypted_content` and is worth
 * nothing without it; it goes back word for word to the place it had among the outputs, or not at all.
 */
import type { DialectName } from "../../../catalog/Provider.ts"
import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { asText } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"

const formats: { readonly [Name in DialectName]?: string } = {
  azure: "azure-openai-responses-v1",
  xai: "xai-responses-v1"
}

/** What the blocks of one item have in common, and what tells them from those of other items. */
export interface ReasoningItemRef {
  readonly id: string
  readonly format: string
}

/** `place`: how many outputs came before the item, where all text counts as one and every tool call as one. */
export const reasoningItemRef = (id: string, place: number, dialect: DialectName): ReasoningItemRef => ({
  id: place === 0 ? id : `${id}@${place}`,
  format: formats[dialect] ?? "openai-responses-v1"
})

/** Blocks of one index are pieces of one text. */
export const summaryDetail = (seal: ReasoningItemRef, index: number, summary: string): ReasoningDetail => ({
  type: "reasoning.summary",
  summary,
  ...seal,
  index
})

/** Reasoning in full, which models with open weights show. */
export const reasoningTextDetail = (seal: ReasoningItemRef, index: number, text: string): ReasoningDetail => ({
  type: "reasoning.text",
  text,
  ...seal,
  index
})

export const encryptedDetail = (seal: ReasoningItemRef, index: number, data: string): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data,
  ...seal,
  index
})

/** The items that `origin` can read again, with the place each had. */
export const returnedReasoningItems = (
  origin: string,
  message: AssistantMessage
): ReadonlyArray<{ readonly place: number; readonly item: JsonObject }> => {
  const details = detailsFrom(origin, message)
  return details.flatMap(({ data, id, type }) => {
    if (type !== "reasoning.encrypted" || asText(data) === undefined) return []
    const summary = summariesIn(details, id).map((text) => ({ type: "summary_text", text }))
    return [{ place: placeIn(id), item: { type: "reasoning", summary, encrypted_content: data } }]
  })
}

/** Clients hold the pieces of a summary as they came, or joined. */
const summariesIn = (details: ReadonlyArray<ReasoningDetail>, id: unknown): ReadonlyArray<string> => {
  const texts = new Map<unknown, string>()
  for (const { id: of, index, summary, type } of details) {
    if (type === "reasoning.summary" && of === id) texts.set(index, (texts.get(index) ?? "") + (asText(summary) ?? ""))
  }
  return [...texts.values()]
}

const placeIn = (id: unknown): number => Number(/@(\d{1,6})$/.exec(asText(id) ?? "")?.[1] ?? 0)
