/**
 * The parts of a conversation that its demand is predicted from: the last user message at full weight, earlier user
 * messages with decreasing weight, and the system prompt with little weight. Together they never exceed `charactersMax`
 * characters, so the cost does not grow with a pasted book. Of a longer text the head and the tail are kept, because
 * that is where instructions stand.
 */
import type { ChatRequest, Message } from "../domain/Conversation.ts"

export const charactersMax = 4_000
const charactersPerEarlierMessage = 600
const charactersOfSystem = 500
/** How many messages are searched from the end. A tool loop can put many of them after the last user message. */
const searchedMessagesMax = 64
const earlierMessagesMax = 4
const headShare = 0.6

const earlierMessageDecay = 0.3
const systemWeight = 0.08

export interface WeightedText {
  readonly text: string
  readonly weight: number
}

/** Newest first, the system prompt last. Empty when no user or system message has text. */
export const weightedTextsOf = (request: ChatRequest): ReadonlyArray<WeightedText> => {
  const texts: Array<WeightedText> = []
  let left = charactersMax
  let weight = 1
  const add = (message: Message, limit: number, messageWeight: number): void => {
    const text = headAndTail(message, Math.min(limit, left))
    left -= text.length
    if (text !== "") texts.push({ text, weight: messageWeight })
  }
  const oldest = Math.max(0, request.messages.length - searchedMessagesMax)
  for (let index = request.messages.length - 1; index >= oldest; index--) {
    const message = request.messages[index]
    if (message?.role !== "user") continue
    add(message, weight === 1 ? charactersMax : charactersPerEarlierMessage, weight)
    weight *= earlierMessageDecay
    if (left <= 0 || texts.length > earlierMessagesMax) break
  }
  const [first] = request.messages
  if (first?.role === "system") add(first, charactersOfSystem, systemWeight)
  return texts
}

/** At most `limit` characters of the message's text parts. The cut may split a surrogate pair. */
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
