/**
 * Puts the output items of an answer together. The same text may come in deltas, as the end of its part, as the end of
 * its item and at the end of the answer; it is said once, and whatever of it is still missing is made good by the first
 * that has it whole.
 */
import type { DialectName } from "../../../catalog/Provider.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import type { AnswerEvents } from "../shared/AnswerEvents.ts"
import { asArray, asObject, asText, type Fields, isJsonObject } from "../shared/Field.ts"
import {
  encryptedDetail,
  type ReasoningItemRef,
  reasoningItemRef,
  summaryDetail,
  reasoningTextDetail
} from "./Reasoning.ts"

export type Kind = "text" | "refusal" | "summary" | "thought" | "arguments"
type ItemType = "message" | "reasoning" | "function_call"

const typeOfKind = {
  text: "message",
  refusal: "message",
  summary: "reasoning",
  thought: "reasoning",
  arguments: "function_call"
} as const satisfies Record<Kind, ItemType>

/** Where an item is in the output; either may be missing. */
export interface Place {
  readonly index: number | undefined
  readonly id: string | undefined
}

/** A piece of a text, or all of it. */
export interface Saying {
  readonly kind: Kind
  /** Which text of its kind in the item. */
  readonly part: number
  readonly text: string
  readonly whole: boolean
}

interface Text {
  readonly kind: Kind
  readonly part: number
  said: string
  whole: boolean
  /** Of reasoning: the index of its block. */
  readonly block: number
}

interface Item {
  readonly index: number
  id: string | undefined
  readonly type: ItemType
  readonly texts: Array<Text>
  /** Of a tool call: its number in the answer, once its name is known. */
  tool: number | undefined
  complete: boolean
  /** Of reasoning: marks its blocks; made with the first of them. */
  seal: ReasoningItemRef | undefined
  sealed: boolean
}

/** The items of one answer. */
export interface Items {
  readonly answer: AnswerEvents
  readonly dialect: DialectName
  readonly list: Array<Item>
  /** Reasoning blocks so far. */
  blocks: number
  fault: string | undefined
}

export const noItems = (answer: AnswerEvents, dialect: DialectName): Items => ({
  answer,
  dialect,
  list: [],
  blocks: 0,
  fault: undefined
})

/** An item begins. Only what it is counts: what it says is still to come. */
export const begin = (items: Items, index: number | undefined, fields: Fields): void => {
  itemOf(items, index, fields)
}

export const say = (items: Items, place: Place, saying: Saying): void => {
  const item = itemAt(items, place, typeOfKind[saying.kind])
  if (item !== undefined) add(items, item, saying)
}

/** An item with all it says, be it known already or not. */
export const complete = (items: Items, index: number | undefined, fields: Fields): void => {
  const item = itemOf(items, index, fields)
  if (item === undefined) return
  item.complete = true
  for (const saying of sayingsOf(fields)) if (typeOfKind[saying.kind] === item.type) add(items, item, saying)
  const encrypted = asText(fields["encrypted_content"])
  // Azure encrypts only what it sends at the very end, so a block that is not sealed yet waits for it.
  if (item.type !== "reasoning" || encrypted === undefined || item.sealed) return
  item.sealed = true
  items.answer.detail(encryptedDetail(sealIn(items, item), items.blocks++, encrypted))
}

/** Says what was kept for the end. `finished`: by the provider's word nothing is missing. */
export const close = (items: Items, finished: boolean): Failure | undefined => {
  const calls = items.list.filter((item) => item.type === "function_call")
  if (finished && calls.some((call) => call.tool === undefined))
    return broken("The provider sent a tool call without a name.")
  if (finished && !calls.every((call) => call.complete)) return broken("The provider did not finish a tool call.")
  return items.fault === undefined ? undefined : broken(items.fault)
}

const itemTypes: ReadonlyMap<unknown, ItemType> = new Map(
  (["message", "reasoning", "function_call"] as const).map((type) => [type, type])
)

/** The item that `fields` describe, with its tool call opened as soon as it can be. */
const itemOf = (items: Items, index: number | undefined, fields: Fields): Item | undefined => {
  const type = itemTypes.get(fields["type"])
  const item = type && itemAt(items, { index, id: asText(fields["id"]) }, type)
  const name = asText(fields["name"])
  if (item?.type !== "function_call" || item.tool !== undefined || name === undefined) return item
  item.tool = items.answer.openTool(asText(fields["call_id"]), name)
  items.answer.toolArguments(item.tool, saidIn(item, "arguments").join(""))
  return item
}

const itemAt = ({ list }: Items, { id, index }: Place, type: ItemType): Item | undefined => {
  const found =
    (id === undefined ? undefined : list.find((item) => item.id === id)) ?? list.find((item) => item.index === index)
  if (found !== undefined) {
    found.id ??= id
    // Two types at one place cannot both be right; what was said first stays.
    return found.type === type ? found : undefined
  }
  const item: Item = {
    index: index ?? Math.max(-1, ...list.map((other) => other.index)) + 1,
    id,
    type,
    texts: [],
    tool: undefined,
    complete: false,
    seal: undefined,
    sealed: false
  }
  list.push(item)
  return item
}

const add = (items: Items, item: Item, { kind, part, text: heard, whole }: Saying): void => {
  let text = item.texts.find((known) => known.kind === kind && known.part === part)
  if (text === undefined) {
    text = { kind, part, said: "", whole: false, block: typeOfKind[kind] === "reasoning" ? items.blocks++ : 0 }
    item.texts.push(text)
  }
  if (text.whole) return
  text.whole = whole
  if (whole && !heard.startsWith(text.said)) {
    if (kind === "arguments" && !isJsonObject(text.said))
      items.fault = "The provider contradicts itself in a tool call."
    return
  }
  const rest = whole ? heard.slice(text.said.length) : heard
  if (rest === "") return
  if (text.said === "") separate(items, item, kind)
  text.said += rest
  utter(items, item, text, rest)
}

/** The texts of all messages are one text, and so are all thoughts: a break keeps the next from running on. */
const separate = ({ answer, list }: Items, item: Item, kind: Kind): void => {
  if (kind === "text" && !hasSpoken(item) && list.some(hasSpoken)) answer.text("\n")
  if (typeOfKind[kind] === "reasoning" && list.some((other) => thoughtsIn(other).length > 0)) answer.reasoning("\n\n")
}

const utter = (items: Items, item: Item, { block, kind }: Text, text: string): void => {
  const { answer } = items
  switch (kind) {
    case "text":
      return answer.text(text)
    case "refusal":
      return answer.refusal(text)
    case "summary":
      answer.reasoning(text)
      return answer.detail(summaryDetail(sealIn(items, item), block, text))
    case "thought":
      answer.reasoning(text)
      return answer.detail(reasoningTextDetail(sealIn(items, item), block, text))
    case "arguments":
      if (item.tool !== undefined) answer.toolArguments(item.tool, text)
  }
}

const sealIn = ({ dialect, list }: Items, item: Item): ReasoningItemRef => {
  const before = list.filter((other) => other.index < item.index)
  const calls = before.filter((other) => other.type === "function_call").length
  const place = calls + (before.some(hasSpoken) ? 1 : 0)
  return (item.seal ??= reasoningItemRef(item.id ?? `rs_${item.index}`, place, dialect))
}

const saidIn = (item: Item, kind: Kind): ReadonlyArray<string> =>
  item.texts.filter((text) => text.kind === kind && text.said !== "").map((text) => text.said)

const hasSpoken = (item: Item): boolean => saidIn(item, "text").length > 0
const thoughtsIn = (item: Item): ReadonlyArray<string> => [...saidIn(item, "summary"), ...saidIn(item, "thought")]

/** What the parts of an item hold, by their type. */
const partTypes: ReadonlyMap<unknown, { readonly kind: Kind; readonly member: string }> = new Map([
  ["output_text", { kind: "text", member: "text" }],
  ["refusal", { kind: "refusal", member: "refusal" }],
  ["summary_text", { kind: "summary", member: "text" }],
  ["reasoning_text", { kind: "thought", member: "text" }]
])

/** Everything that an item says. */
const sayingsOf = (fields: Fields): ReadonlyArray<Saying> => {
  const inside = ["summary", "content"].flatMap((list) =>
    asArray(fields[list]).flatMap((entry, part): ReadonlyArray<Saying> => {
      const content = asObject(entry)
      const type = partTypes.get(content?.["type"])
      const text = type && asText(content?.[type.member])
      return type === undefined || text === undefined ? [] : [{ kind: type.kind, part, text, whole: true }]
    })
  )
  const written = asText(fields["arguments"])
  return written === undefined ? inside : [...inside, { kind: "arguments", part: 0, text: written, whole: true }]
}
