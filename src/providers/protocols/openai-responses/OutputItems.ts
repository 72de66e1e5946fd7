/**
 * Joins the output items of a response. The same text may come in deltas, at the end of its part, at the end of its
 * item and at the end of the response. It is appended to the completion once; what the deltas left out is appended as
 * soon as the whole text arrives.
 */
import type { DialectName } from "../../../catalog/Provider.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import { asText, type Fields, isJsonObject } from "../shared/Field.ts"
import { type EventBuilder, maxAnswerItems } from "../shared/response/EventBuilder.ts"
import { toolCallWithoutName } from "../shared/response/ResponseReader.ts"
import { type TextKind, textsIn, type TextUpdate } from "./ItemTexts.ts"
import { messageSeparator, orderDetail, type OrderedOutput } from "./OutputOrder.ts"
import {
  encryptedDetail,
  reasoningFormat,
  type ReasoningItemRef,
  reasoningItemRef,
  reasoningTextDetail,
  summaryDetail
} from "./ReasoningItems.ts"

type ItemType = "message" | "reasoning" | "function_call"

/** The type of the items that have texts of each kind. */
const itemTypeOf = {
  text: "message",
  refusal: "message",
  summary: "reasoning",
  reasoning: "reasoning",
  arguments: "function_call"
} as const satisfies Record<TextKind, ItemType>

/** Names an item of the output; either member may be missing. */
export interface ItemPosition {
  readonly index: number | undefined
  readonly id: string | undefined
}

/** A text as far as it was appended to the completion. */
interface ItemText {
  readonly kind: TextKind
  readonly part: number
  text: string
  isWhole: boolean
  /** The index of its reasoning block; 0 for other texts. */
  readonly block: number
}

interface OutputItem {
  readonly index: number
  id: string | undefined
  readonly type: ItemType
  readonly texts: Array<ItemText>
  /** The index of its tool call in the completion, once the name is known. */
  toolCall: number | undefined
  isComplete: boolean
  /** Names the item in its reasoning blocks; made with the first of them. */
  ref: ReasoningItemRef | undefined
  hasEncryptedBlock: boolean
  /** Of a message. */
  phase: string | null
}

/** The items of one response. This state is changed in place. */
export interface OutputItems {
  readonly events: EventBuilder
  readonly dialect: DialectName
  readonly list: Array<OutputItem>
  /** The number of reasoning blocks so far. */
  blocks: number
  isContradictory: boolean
}

export const newOutputItems = (events: EventBuilder, dialect: DialectName): OutputItems => ({
  events,
  dialect,
  list: [],
  blocks: 0,
  isContradictory: false
})

/** Reads the start of an item. Its texts are not read, because they are still to come. */
export const startItem = (items: OutputItems, index: number | undefined, fields: Fields): void => {
  describedItem(items, index, fields)
}

/** Reads a piece of a text of the item at `position`. */
export const updateText = (items: OutputItems, position: ItemPosition, update: TextUpdate): void => {
  const item = itemAt(items, position, itemTypeOf[update.kind])
  if (item !== undefined) appendUpdate(items, item, update)
}

/** Reads an item with all its texts, whether parts of it are known already or not. */
export const completeItem = (items: OutputItems, index: number | undefined, fields: Fields): void => {
  const item = describedItem(items, index, fields)
  if (item === undefined) return
  item.isComplete = true
  item.phase = asText(fields["phase"]) ?? null
  for (const update of textsIn(fields)) if (itemTypeOf[update.kind] === item.type) appendUpdate(items, item, update)
  const encrypted = asText(fields["encrypted_content"])
  // Azure encrypts only what it sends at the very end, so a reasoning item may get its encrypted block later.
  if (item.type !== "reasoning" || encrypted === undefined || item.hasEncryptedBlock) return
  item.hasEncryptedBlock = true
  items.events.appendDetail(encryptedDetail(refOf(items, item), items.blocks++, encrypted))
}

/** Appends what the text and the calls do not tell of the items. */
export const appendOrder = (items: OutputItems): void => {
  const ordered = [...items.list].sort((a, b) => a.index - b.index)
  const outputs = ordered.flatMap((item): ReadonlyArray<OrderedOutput> => {
    if (item.type === "function_call") return [["call"]]
    if (item.type === "reasoning") return item.hasEncryptedBlock ? [["reasoning", refOf(items, item).id]] : []
    const length = textsOf(item, "text").join("").length
    return length === 0 ? [] : [["text", length, item.phase]]
  })
  const detail = orderDetail(outputs, reasoningFormat(items.dialect), items.blocks)
  if (detail !== undefined) items.events.appendDetail(detail)
}

/**
 * The failure of a response whose tool calls cannot be executed. `isCompleted`: the provider says nothing is missing.
 */
export const itemsFailure = (items: OutputItems, isCompleted: boolean): Failure | undefined => {
  const toolCalls = items.list.filter((item) => item.type === "function_call")
  if (isCompleted && toolCalls.some((item) => item.toolCall === undefined)) return toolCallWithoutName()
  if (isCompleted && !toolCalls.every((item) => item.isComplete))
    return broken("The provider did not finish a tool call.")
  return items.isContradictory ? broken("The provider contradicts itself in a tool call.") : undefined
}

const itemTypes: ReadonlyMap<unknown, ItemType> = new Map(
  (["message", "reasoning", "function_call"] as const).map((type) => [type, type])
)

/** The item that `fields` describe. Its tool call is started as soon as its name is known. */
const describedItem = (items: OutputItems, index: number | undefined, fields: Fields): OutputItem | undefined => {
  const type = itemTypes.get(fields["type"])
  const item = type && itemAt(items, { index, id: asText(fields["id"]) }, type)
  const name = asText(fields["name"])
  if (item?.type !== "function_call" || item.toolCall !== undefined || name === undefined) return item
  item.toolCall = items.events.startToolCall(asText(fields["call_id"]), name)
  items.events.appendArguments(item.toolCall, textsOf(item, "arguments").join(""))
  return item
}

/** The item at a position, a new one if there is none yet. */
const itemAt = ({ events, list }: OutputItems, { id, index }: ItemPosition, type: ItemType): OutputItem | undefined => {
  const found =
    (id === undefined ? undefined : list.find((item) => item.id === id)) ?? list.find((item) => item.index === index)
  if (found !== undefined) {
    found.id ??= id
    // Two types at one position cannot both be right; the first one counts.
    return found.type === type ? found : undefined
  }
  if (list.length >= maxAnswerItems) {
    events.setOversized()
    return undefined
  }
  const item: OutputItem = {
    index: index ?? Math.max(-1, ...list.map((other) => other.index)) + 1,
    id,
    type,
    texts: [],
    toolCall: undefined,
    isComplete: false,
    ref: undefined,
    hasEncryptedBlock: false,
    phase: null
  }
  list.push(item)
  return item
}

const appendUpdate = (items: OutputItems, item: OutputItem, { isWhole, kind, part, text }: TextUpdate): void => {
  let known = item.texts.find((other) => other.kind === kind && other.part === part)
  if (known === undefined) {
    known = { kind, part, text: "", isWhole: false, block: itemTypeOf[kind] === "reasoning" ? items.blocks++ : 0 }
    item.texts.push(known)
  }
  if (known.isWhole) return
  known.isWhole = isWhole
  if (isWhole && !text.startsWith(known.text)) {
    if (kind === "arguments" && !isJsonObject(known.text)) items.isContradictory = true
    return
  }
  const rest = isWhole ? text.slice(known.text.length) : text
  if (rest === "") return
  if (known.text === "") separate(items, item, kind)
  known.text += rest
  append(items, item, known, rest)
}

/** The texts of all messages become one text, and so does all reasoning: a break keeps them apart. */
const separate = ({ events, list }: OutputItems, item: OutputItem, kind: TextKind): void => {
  if (kind === "text" && !hasText(item) && list.some(hasText)) events.appendText(messageSeparator)
  if (itemTypeOf[kind] === "reasoning" && list.some(hasReasoning)) events.appendReasoning("\n\n")
}

const append = (items: OutputItems, item: OutputItem, { block, kind }: ItemText, text: string): void => {
  const { events } = items
  switch (kind) {
    case "text":
      return events.appendText(text)
    case "refusal":
      return events.appendRefusal(text)
    case "summary":
      events.appendReasoning(text)
      return events.appendDetail(summaryDetail(refOf(items, item), block, text))
    case "reasoning":
      events.appendReasoning(text)
      return events.appendDetail(reasoningTextDetail(refOf(items, item), block, text))
    case "arguments":
      if (item.toolCall !== undefined) events.appendArguments(item.toolCall, text)
  }
}

const refOf = ({ dialect, list }: OutputItems, item: OutputItem): ReasoningItemRef => {
  const before = list.filter((other) => other.index < item.index)
  const toolCalls = before.filter((other) => other.type === "function_call").length
  const position = toolCalls + (before.some(hasText) ? 1 : 0)
  return (item.ref ??= reasoningItemRef(item.id ?? `rs_${item.index}`, position, dialect))
}

const textsOf = (item: OutputItem, kind: TextKind): ReadonlyArray<string> =>
  item.texts.filter((known) => known.kind === kind && known.text !== "").map((known) => known.text)

const hasText = (item: OutputItem): boolean => textsOf(item, "text").length > 0
const hasReasoning = (item: OutputItem): boolean =>
  textsOf(item, "summary").length > 0 || textsOf(item, "reasoning").length > 0
