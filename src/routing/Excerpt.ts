/**
 * The part of a conversation that demand is read from: the last user message at full weight, earlier user turns with
 * falling weight, the system prompt lightly. Never more than `charactersMax` characters in all, head and tail of what
 * is longer, because instructions stand at the start or the end and cost must not grow with a pasted book.
 */
import type { ChatRequest, Message } from "../domain/Conversation.ts"

export const charactersMax = 4_000
const charactersPerEarlierTurn = 600
const charactersOfSystem = 500
/** How far back a long tool loop is searched for what the user said. */
const messagesBackMax = 64
const earlierTurnsMax = 4
const headShare = 0.6

const earlierTurnDecay = 0.3
const systemWeight = 0.08

export interface Excerpt {
  readonly text: string
  readonly weight: number
}

/** Newest first. Empty when nobody said anything in text. */
export const excerptsOf = (request: ChatRequest): ReadonlyArray<Excerpt> => {
  const excerpts: Array<Excerpt> = []
  let left = charactersMax
  let weight = 1
  const add = (message: Message, limit: number, weightOfMessage: number): void => {
    const text = headAndTail(message, Math.min(limit, left))
    left -= text.length
    if (text !== "") excerpts.push({ text, weight: weightOfMessage })
  }
  const oldest = Math.max(0, request.messages.length - messagesBackMax)
  for (let index = request.messages.length - 1; index >= oldest; index--) {
    const message = request.messages[index]
    if (message?.role !== "user") continue
    add(message, weight === 1 ? charactersMax : charactersPerEarlierTurn, weight)
    weight *= earlierTurnDecay
    if (left <= 0 || excerpts.length > earlierTurnsMax) break
  }
  const [first] = request.messages
  if (first?.role === "system") add(first, charactersOfSystem, systemWeight)
  return excerpts
}

/** At most `limit` characters of the message's text parts. A cut may split a surrogate pair; readers must not mind. */
const headAndTail = (message: Message, limit: number): string => {
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
  const length = texts.reduce((total, text) => total + text.length + 1, 0)
  if (length <= limit) return texts.join("\n")
  const headLength = Math.floor(limit * headShare)
  return take(texts, headLength, "head") + take(texts.toReversed(), limit - headLength, "tail")
}

const take = (texts: ReadonlyArray<string>, limit: number, side: "head" | "tail"): string => {
  let taken = ""
  for (const text of texts) {
    const left = limit - taken.length
    if (left <= 0) break
    taken = side === "head" ? taken + text.slice(0, left) : text.slice(-left) + taken
  }
  return taken
}
