/**
 * Items of `input` as messages. Items that the model made one after the other (reasoning, a message, calls) are one
 * message of the assistant, as they were one answer.
 */
import type { ResponsesContent, ResponsesInputItem } from "../../api/ResponsesItems.ts"
import type {
  AssistantMessage,
  ContentPart,
  Message,
  ReasoningDetail,
  TextPart,
  ToolCall
} from "../../domain/Conversation.ts"
import { customArguments, functionName } from "./ClientTools.ts"

type Item<Type extends string> = Extract<ResponsesInputItem, { readonly type: Type }>
type MessageItem = Extract<ResponsesInputItem, { readonly role: string }>

/** Stands between the texts of one answer, as it does where a provider answers with several messages. */
const textSeparator = "\n"
const reasoningSeparator = "\n\n"

/** The blocks of each reasoning item. */
export type ReasoningBlocks = ReadonlyMap<ResponsesInputItem, ReadonlyArray<ReasoningDetail>>

/** The messages that the items make. */
export const messagesOfItems = (
  items: ReadonlyArray<ResponsesInputItem>,
  blocks: ReasoningBlocks
): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  let answer: AnswerBuilder | undefined
  const endAnswer = (): void => {
    if (answer !== undefined) messages.push(answer.message())
    answer = undefined
  }
  for (const item of items) {
    if (isAnswerItem(item)) {
      if (answer?.endsBefore(item)) endAnswer()
      answer ??= new AnswerBuilder(blocks)
      answer.append(item)
    } else {
      endAnswer()
      messages.push(messageOf(item))
    }
  }
  endAnswer()
  return messages
}

type AssistantItem = Extract<MessageItem, { readonly role: "assistant" }>
type AnswerItem = AssistantItem | Item<"function_call"> | Item<"custom_tool_call"> | Item<"reasoning">

const isMessage = (item: ResponsesInputItem): item is MessageItem => "role" in item

const isAnswerItem = (item: ResponsesInputItem): item is AnswerItem =>
  isMessage(item) ? item.role === "assistant" : !item.type.endsWith("_output")

const messageOf = (item: Exclude<ResponsesInputItem, AnswerItem>): Message => {
  if (!isMessage(item)) return { role: "tool", toolCallId: item.call_id, content: partsOf(item.output) }
  const content = partsOf(item.content)
  return item.role === "user" ? { role: "user", content } : { role: "system", content: content.filter(isText) }
}

/** Joins the items of one answer. */
class AnswerBuilder {
  private readonly texts: Array<string> = []
  private readonly refusals: Array<string> = []
  private readonly thoughts: Array<string> = []
  private readonly blocks: ReasoningBlocks
  private readonly toolCalls: Array<ToolCall> = []
  private readonly details: Array<ReasoningDetail> = []
  private endsWithMessage = false

  constructor(blocks: ReasoningBlocks) {
    this.blocks = blocks
  }

  /** No model answers with two messages in a row: they are two answers. */
  endsBefore(item: AnswerItem): boolean {
    return this.endsWithMessage && isMessage(item)
  }

  append(item: AnswerItem): void {
    this.endsWithMessage = isMessage(item)
    if (isMessage(item)) this.appendMessage(item)
    else if (item.type === "reasoning") this.appendReasoning(item)
    else this.toolCalls.push(toolCallOf(item))
  }

  private appendMessage({ content }: AssistantItem): void {
    if (typeof content === "string") return void (content !== "" && this.texts.push(content))
    const texts = content.flatMap((part) => (part.type === "refusal" ? [] : [part.text]))
    if (texts.join("") !== "") this.texts.push(texts.join(textSeparator))
    for (const part of content) if (part.type === "refusal") this.refusals.push(part.refusal)
  }

  private appendReasoning(item: Item<"reasoning">): void {
    for (const { text } of [...(item.content ?? []), ...(item.summary ?? [])]) this.thoughts.push(text)
    for (const detail of this.blocks.get(item) ?? []) this.details.push(detail)
  }

  message(): AssistantMessage {
    const text = this.texts.join(textSeparator)
    const refusal = this.refusals.join(textSeparator)
    const reasoning = this.thoughts.join(reasoningSeparator)
    return {
      role: "assistant",
      content: text === "" ? [] : [{ type: "text", text }],
      toolCalls: this.toolCalls,
      reasoningDetails: this.details,
      ...(refusal !== "" && { refusal }),
      ...(reasoning !== "" && { reasoning })
    }
  }
}

const toolCallOf = (item: Item<"function_call"> | Item<"custom_tool_call">): ToolCall => ({
  id: item.call_id,
  name: functionName(item.name, item.namespace),
  arguments: item.type === "function_call" ? item.arguments : customArguments(item.input)
})

const isText = (part: ContentPart): part is TextPart => part.type === "text"

const partsOf = (content: ResponsesContent): ReadonlyArray<ContentPart> => {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }]
  return content.map((part): ContentPart => {
    if (part.type === "input_audio") return { type: "audio", ...part.input_audio }
    const { prompt_cache_breakpoint: breakpoint } = part
    // Providers offer five minutes and one hour; the longest that this API has stands for the hour.
    const mark = breakpoint ? ({ cacheControl: { ttl: breakpoint.ttl === "12h" ? "1h" : "5m" } } as const) : {}
    if (part.type === "input_text") return { type: "text", text: part.text, ...mark }
    const { detail, image_url: url } = part
    return { type: "image", url, ...(detail !== undefined && detail !== null && { detail }), ...mark }
  })
}
