/**
 * The order of the items of an answer, and the phase of each message in it, as one more reasoning detail. A client
 * holds all messages as one text, and the model does worse if it gets its notes between tool calls back as an answer.
 */
import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
import { asArray, asText, parsed } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"

/** One item: a text of so many characters with its phase, a call, or the reasoning item with that id. */
export type OrderedOutput =
  | readonly [type: "text", length: number, phase: string | null]
  | readonly [type: "call"]
  | readonly [type: "reasoning", id: string]

/** No reasoning item has this id. */
const orderId = "output_order"

/** Stands between the texts of two messages in the text that the client gets. */
export const messageSeparator = "\n"

export const isOrderDetail = ({ id }: ReasoningDetail): boolean => id === orderId

/** `undefined` where the text and the calls that the client holds say it all. */
export const orderDetail = (
  outputs: ReadonlyArray<OrderedOutput>,
  format: string,
  index: number
): ReasoningDetail | undefined => {
  const firstText = outputs.findIndex(([type]) => type === "text")
  const lastText = outputs.findLastIndex(([type]) => type === "text")
  const isTold = outputs.some(([type, , phase]) => type === "text" && phase !== null)
  const isSplit = outputs.slice(firstText + 1, lastText).some(([type]) => type !== "text")
  if (firstText < 0 || (!isTold && !isSplit)) return undefined
  const data = Buffer.from(JSON.stringify(outputs)).toString("base64url")
  return { type: "reasoning.encrypted", data, id: orderId, format, index }
}

/** The order of a message that `origin` made, unless the client has changed its text or its calls. */
export const orderOf = (origin: string, message: AssistantMessage, text: string): ReadonlyArray<OrderedOutput> => {
  const detail = message.reasoningDetails.length === 0 ? undefined : detailsFrom(origin, message).find(isOrderDetail)
  const listed = asArray(parsed(Buffer.from(asText(detail?.["data"]) ?? "", "base64url").toString()))
  const outputs = listed.flatMap((entry) => outputIn(asArray(entry)))
  const texts = outputs.flatMap((output) => (output[0] === "text" ? [output[1]] : []))
  const length = texts.reduce((sum, next) => sum + next, (texts.length - 1) * messageSeparator.length)
  const calls = outputs.filter(([type]) => type === "call").length
  return texts.length > 0 && length === text.length && calls === message.toolCalls.length ? outputs : []
}

const outputIn = ([type, value, phase]: ReadonlyArray<unknown>): ReadonlyArray<OrderedOutput> => {
  if (type === "call") return [["call"]]
  if (type === "reasoning" && typeof value === "string") return [["reasoning", value]]
  return type === "text" && Number.isSafeInteger(value) && Number(value) > 0
    ? [["text", Number(value), asText(phase) ?? null]]
    : []
}
