/**
 * Messages as input items. No item carries the id it had: the provider keeps nothing, and an id of an item that it does
 * not keep makes it look for one in vain. Calls and their outputs are joined by the call's own id.
 */
import {
  type AssistantMessage,
  type CacheControl,
  type ContentPart,
  type Message,
  textOf,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { WireCall } from "../Protocol.ts"
import { dialects } from "../shared/Dialects.ts"
import { readableArguments } from "../shared/Field.ts"
import { instructionOf, lacksWordJson } from "../shared/request/ResponseFormats.ts"
import { canReason } from "../shared/request/Sampling.ts"
import { splitSystem, withResultsAtCalls } from "../shared/request/Turns.ts"
import { wireIds } from "../shared/request/WireIds.ts"
import type {
  CacheBreakpoint,
  FunctionCallItem,
  FunctionCallOutputItem,
  InputContent,
  InputItem,
  OutputContent
} from "./Body.ts"
import { messageSeparator, type OrderedOutput, orderOf } from "./OutputOrder.ts"
import { returnedReasoningItems } from "./ReasoningItems.ts"

/** What the messages of one request have in common. */
interface MessageContext {
  readonly call: WireCall
  readonly wireId: (id: string) => string
}

/** The `input` member. Instructions are items of it, because not every server knows a member for them. */
export const inputOf = (call: WireCall): ReadonlyArray<InputItem> => {
  const context: MessageContext = { call, wireId: wireIds("plain") }
  const { rest, system } = splitSystem(withResultsAtCalls(call.request.messages))
  return [
    ...system.flatMap((message) => messageItems(context, message)),
    ...formatInstruction(call),
    ...rest.flatMap((message) => messageItems(context, message))
  ]
}

const messageItems = (context: MessageContext, message: Message): ReadonlyArray<InputItem> => {
  switch (message.role) {
    case "system":
      return inputMessage(context.call, instructionRole(context.call), message.content)
    case "user":
      return inputMessage(context.call, "user", message.content)
    case "assistant":
      return assistantItems(context, message)
    case "tool":
      return [toolOutput(context, message)]
  }
}

type InputRole = "system" | "developer" | "user"

const instructionRole = ({ dialect, model }: WireCall): InputRole =>
  canReason(model) ? dialects[dialect].instructionRole : "system"

/** A message without content is refused, so it is left out. */
const inputMessage = (call: WireCall, role: InputRole, parts: ReadonlyArray<ContentPart>): ReadonlyArray<InputItem> => {
  const content = contentOf(call, parts)
  return content.length === 0 ? [] : [{ role, content }]
}

/** Texts and images; a request with audio has been refused before. */
const contentOf = (call: WireCall, parts: ReadonlyArray<ContentPart>): ReadonlyArray<InputContent> =>
  parts.flatMap((part): ReadonlyArray<InputContent> => {
    if (part.type === "text")
      return [{ type: "input_text", text: part.text, prompt_cache_breakpoint: breakpoint(call, part.cacheControl) }]
    if (part.type !== "image") return []
    const prompt_cache_breakpoint = breakpoint(call, part.cacheControl)
    return [{ type: "input_image", image_url: part.url, detail: part.detail ?? "auto", prompt_cache_breakpoint }]
  })

/**
 * Models from gpt-5.6 on, which are those that know the effort `max`, accept cache breakpoints and decide themselves
 * how long they keep a prompt. Older ones refuse breakpoints, and accept a retention time.
 */
export const takesBreakpoints = ({ dialect, model }: WireCall): boolean =>
  dialects[dialect].promptCacheRetention && model.reasoning.efforts.includes("max")

/** The API knows two lifetimes, of half an hour and of twelve hours: an hour becomes the longer one. */
const breakpoint = (call: WireCall, control: CacheControl | undefined): CacheBreakpoint | undefined =>
  control === undefined || !takesBreakpoints(call)
    ? undefined
    : { mode: "explicit", ttl: control.ttl === "1h" ? "12h" : undefined }

/** Reasoning stands directly before the output it led to. Without any output it is refused, so it is left out. */
const assistantItems = ({ call, wireId }: MessageContext, message: AssistantMessage): ReadonlyArray<InputItem> => {
  const text = textOf(message)
  const calls = message.toolCalls.map((tool): FunctionCallItem => ({
    type: "function_call",
    call_id: wireId(tool.id),
    name: tool.name,
    arguments: readableArguments(tool.arguments)
  }))
  const said: ReadonlyArray<OutputContent> = [
    ...(text === "" ? [] : [{ type: "output_text", text } as const]),
    ...(message.refusal ? [{ type: "refusal", refusal: message.refusal } as const] : [])
  ]
  const outputs: ReadonlyArray<InputItem> =
    said.length === 0 ? calls : [{ role: "assistant", phase: undefined, content: said }, ...calls]
  const reasoning = returnedReasoningItems(call.origin, message)
  const order = orderOf(call.origin, message, text)
  if (order.length > 0) return orderedItems(order, text, calls, reasoning)
  const last = outputs.length - 1
  const before = Map.groupBy(reasoning, ({ position }) => Math.min(position, last))
  return outputs.flatMap((output, index) => [...(before.get(index) ?? []).map(({ item }) => item), output])
}

/** The items of an answer as the model gave them. */
const orderedItems = (
  order: ReadonlyArray<OrderedOutput>,
  text: string,
  calls: ReadonlyArray<FunctionCallItem>,
  reasoning: ReturnType<typeof returnedReasoningItems>
): ReadonlyArray<InputItem> => {
  let start = 0
  let called = 0
  const reasoningOf = Map.groupBy(reasoning, ({ id }) => id)
  const items = order.flatMap((output): ReadonlyArray<InputItem> => {
    if (output[0] === "call") return calls.slice(called, ++called)
    if (output[0] === "reasoning") {
      const named = reasoningOf.get(output[1]) ?? []
      reasoningOf.delete(output[1])
      return named.map(({ item }) => item)
    }
    const [, length, phase] = output
    const piece = text.slice(start, start + length)
    start += length + messageSeparator.length
    return [{ role: "assistant", phase: phase ?? undefined, content: [{ type: "output_text", text: piece }] }]
  })
  // Reasoning without an output after it is refused.
  const last = items.findLastIndex((item) => !("type" in item) || item.type !== "reasoning")
  return [...items.slice(0, last), ...items.slice(last + 1), ...items.slice(last, last + 1)]
}

const toolOutput = ({ call, wireId }: MessageContext, message: ToolMessage): FunctionCallOutputItem => ({
  type: "function_call_output",
  call_id: wireId(message.toolCallId),
  output: isPlainText(call, message.content) ? textOf(message) : contentOf(call, message.content)
})

/** True for parts that one string can say. A breakpoint needs a part to stand on. */
const isPlainText = (call: WireCall, parts: ReadonlyArray<ContentPart>): boolean =>
  parts.every((part) => part.type === "text" && breakpoint(call, part.cacheControl) === undefined)

const formatInstruction = (call: WireCall): ReadonlyArray<InputItem> => {
  const { messages, responseFormat } = call.request
  return responseFormat.type === "json_object" && lacksWordJson(messages)
    ? inputMessage(call, instructionRole(call), [{ type: "text", text: instructionOf(responseFormat) }])
    : []
}
