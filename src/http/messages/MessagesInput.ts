/**
 * Translates a valid body of Anthropic's Messages API into the gateway's own form.
 *
 * Without `thinking`, a named model does as it does when nothing is said, as at Anthropic; a routed request does not
 * think, because its `max_tokens` was set for an answer alone.
 */
import type { MessagesRequest } from "../../api/MessagesRequest.ts"
import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from "../../domain/Conversation.ts"
import type { ReasoningFields } from "../../domain/Reasoning.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"
import { cacheControlOf } from "../chat/CacheControlFromWire.ts"
import type { RequestContext } from "../completion/ClientProtocol.ts"
import { isLabel, maxEndUserIdLength } from "../edge/RequestLabels.ts"
import type { MessagesAsked } from "./MessageAnswer.ts"
import { conversationIn } from "./MessagesContent.ts"

/** What a body says beside its declared members. */
export interface MessagesFacts {
  readonly context: RequestContext
  /** The value of `metadata.call_name`, which has been checked. */
  readonly callName: string | undefined
  /** What the gateway carries to no model. */
  readonly dropped: ReadonlyArray<string>
  /** The model that a name of Anthropic's stands for. */
  readonly resolve: (name: string) => string
}

/** Translates a body that the schema has accepted. */
export const messagesInputOf = (wire: MessagesRequest, facts: MessagesFacts): ChatInput => {
  const { context, resolve } = facts
  const routed = wire.model === undefined || wire.model === null || wire.model === context.autoModel
  const { dropped: lost, messages } = conversationIn(wire)
  const dropped = [...facts.dropped, ...lost]
  return {
    ...(routed ? { model: undefined } : namedModel(wire.model ?? "", resolve)),
    request: toRequest(wire, messages, context.sessionHeader),
    reasoning: toReasoning(wire, routed),
    stream: wire.stream ?? false,
    callName: facts.callName,
    endUserId: context.endUserHeader ?? endUserIn(wire),
    ...(dropped.length > 0 && { ignored: dropped })
  }
}

/** An organization may have a name of its own among those that clients send, so both are kept. */
const namedModel = (name: string, resolve: MessagesFacts["resolve"]): Pick<ChatInput, "model" | "sentModel"> => {
  const model = resolve(name)
  return model === name ? { model } : { model, sentModel: name }
}

/** Claude Code sends long ids, and what is too long for a label counts as none. */
const endUserIn = ({ metadata }: MessagesRequest): string | undefined => {
  const id = metadata?.user_id
  return isLabel(id, maxEndUserIdLength) ? id : undefined
}

type Mutable<A> = { -readonly [Key in keyof A]: A[Key] }

const toRequest = (
  wire: MessagesRequest,
  messages: ChatRequest["messages"],
  sessionHeader: string | undefined
): ChatInput["request"] => {
  const request: Mutable<ChatInput["request"]> = {
    messages,
    tools: (wire.tools ?? []).map(toTool),
    toolChoice: toToolChoice(wire.tool_choice),
    parallelToolCalls: !(wire.tool_choice && "disable_parallel_tool_use" in wire.tool_choice
      ? wire.tool_choice.disable_parallel_tool_use === true
      : false),
    responseFormat: toResponseFormat(wire),
    stop: wire.stop_sequences ?? [],
    maxOutputTokens: wire.max_tokens
  }
  const cacheControl = cacheControlOf(wire.cache_control)
  if (wire.temperature !== undefined && wire.temperature !== null) request.temperature = wire.temperature
  if (wire.top_p !== undefined && wire.top_p !== null) request.topP = wire.top_p
  if (cacheControl !== undefined) request.cacheControl = cacheControl
  if (sessionHeader) request.sessionId = sessionHeader
  return request
}

const toTool = (tool: NonNullable<MessagesRequest["tools"]>[number]): Tool => {
  const cacheControl = cacheControlOf(tool.cache_control)
  return {
    name: tool.name,
    parameters: tool.input_schema,
    ...(tool.description !== undefined && tool.description !== null && { description: tool.description }),
    ...(cacheControl !== undefined && { cacheControl })
  }
}

const toToolChoice = (choice: MessagesRequest["tool_choice"]): ToolChoice => {
  switch (choice?.type) {
    case undefined:
    case "auto":
      return "auto"
    case "any":
      return "required"
    case "none":
      return "none"
    case "tool":
      return { name: choice.name }
  }
}

const toResponseFormat = ({ output_config, output_format }: MessagesRequest): ResponseFormat => {
  const format = output_config?.format ?? output_format
  return format === undefined || format === null
    ? { type: "text" }
    : { type: "json_schema", name: "answer", strict: false, schema: format.schema }
}

/** Anthropic's levels that this gateway has no name for. */
const nearest = { max: "xhigh" } as const

const toReasoning = ({ output_config, thinking }: MessagesRequest, routed: boolean): ReasoningFields => {
  const asked = output_config?.effort ?? undefined
  const effort = asked === "max" ? nearest[asked] : asked
  switch (thinking?.type) {
    case "disabled":
      return { reasoning: { effort: "none" } }
    case "enabled":
      return { reasoning: { maxTokens: thinking.budget_tokens, exclude: thinking.display === "omitted" } }
    case "adaptive":
      // Anthropic's own default.
      return { reasoning: { effort: effort ?? "high", exclude: thinking.display === "omitted" } }
    case undefined:
      if (effort !== undefined) return { reasoning: { effort, exclude: true } }
      return { reasoning: routed ? { effort: "none" } : { exclude: true } }
  }
}

/**
 * Without `thinking`, an answer has blocks of it only in a tool loop, where a model may need them back. Programs that
 * never asked for thinking take the first block for the text.
 */
export const askedOf = ({ thinking, tools }: MessagesRequest): MessagesAsked => ({
  showsThinking:
    (thinking !== undefined && thinking !== null && thinking.type !== "disabled") || (tools ?? []).length > 0
})
