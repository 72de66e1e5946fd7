/**
 * Translates a valid body into the gateway's own form. `instructions` stand before the conversation, and tools that are
 * not functions become some.
 */
import type { ResponsesRequest as Wire } from "../../api/ResponsesRequest.ts"
import type { ChatRequest, Message, ResponseFormat } from "../../domain/Conversation.ts"
import type { ReasoningFields } from "../../domain/Reasoning.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"
import { endUserIn, present } from "../chat/ChatInputFromWire.ts"
import type { RequestContext } from "../completion/ClientProtocol.ts"
import type { ClientTools } from "./ClientTools.ts"
import { messagesOfItems, type ReasoningBlocks } from "./InputItems.ts"

/** Translates a body that the schema has accepted. */
export const responsesInputOf = (
  wire: Wire,
  parts: { readonly tools: ClientTools; readonly blocks: ReasoningBlocks },
  context: RequestContext
): ChatInput => {
  const { blocks, tools } = parts
  const ignored = [...tools.adjusted, ...verbosityAdjustment(wire)]
  return {
    model: wire.model === context.autoModel ? undefined : (wire.model ?? undefined),
    request: {
      ...toRequest(wire, tools, context.sessionHeader),
      messages: [...instructionsOf(wire), ...conversationOf(wire.input, blocks)]
    },
    reasoning: toReasoning(wire.reasoning),
    stream: wire.stream ?? false,
    callName: wire.metadata?.["call_name"] ?? undefined,
    endUserId: context.endUserHeader ?? endUserIn(wire.metadata),
    ...(ignored.length > 0 && { ignored })
  }
}

const toRequest = (
  wire: Wire,
  tools: ClientTools,
  sessionHeader: string | undefined
): Omit<ChatInput["request"], "messages"> => ({
  tools: allowedTools(wire, tools),
  toolChoice: toToolChoice(wire.tool_choice),
  parallelToolCalls: wire.parallel_tool_calls ?? true,
  responseFormat: toResponseFormat(wire.text?.format),
  stop: [],
  ...present({
    maxOutputTokens: wire.max_output_tokens,
    temperature: wire.temperature,
    topP: wire.top_p,
    promptCacheKey: wire.prompt_cache_key,
    promptCacheRetention: wire.prompt_cache_retention,
    // An empty id counts as none; otherwise unrelated conversations would share one session pin.
    sessionId: (wire.session_id ?? sessionHeader) || undefined
  })
})

const instructionsOf = ({ instructions }: Wire): ReadonlyArray<Message> =>
  instructions ? [{ role: "system", content: [{ type: "text", text: instructions }] }] : []

const conversationOf = (input: Wire["input"], blocks: ReasoningBlocks): ReadonlyArray<Message> =>
  typeof input === "string"
    ? [{ role: "user", content: input === "" ? [] : [{ type: "text", text: input }] }]
    : messagesOfItems(input, blocks)

type AllowedTools = Extract<NonNullable<Wire["tool_choice"]>, { readonly type: "allowed_tools" }>

/** The functions that stand for the tools which `tool_choice` allows. */
export const allowedNames = ({ tools }: AllowedTools): ReadonlyArray<string> => tools.map(({ name }) => name)

/** No model can be told to use some of the tools it knows, so that it gets only those. */
const allowedTools = ({ tool_choice: choice }: Wire, { functions }: ClientTools): ChatRequest["tools"] => {
  if (typeof choice !== "object" || choice === null || choice.type !== "allowed_tools") return functions
  const allowed = new Set(allowedNames(choice))
  return functions.filter(({ name }) => allowed.has(name))
}

const toToolChoice = (choice: Wire["tool_choice"]): ChatRequest["toolChoice"] => {
  if (typeof choice !== "object" || choice === null) return choice ?? "auto"
  return choice.type === "allowed_tools" ? choice.mode : { name: choice.name }
}

const toResponseFormat = (format: NonNullable<Wire["text"]>["format"]): ResponseFormat => {
  if (format === undefined || format === null) return { type: "text" }
  if (format.type !== "json_schema") return format
  const { description, name, schema, strict } = format
  return { type: "json_schema", name, schema, strict: strict ?? false, ...present({ description }) }
}

/** No model gets it; `medium` is what all of them do. */
const verbosityAdjustment = ({ text }: Wire): ReadonlyArray<string> =>
  text?.verbosity === "low" || text?.verbosity === "high" ? ["text.verbosity=omitted"] : []

/** A wish for a summary says nothing of how much to think. */
const toReasoning = (reasoning: Wire["reasoning"]): ReasoningFields => {
  const asked = present({
    effort: reasoning?.effort,
    maxTokens: reasoning?.max_tokens,
    exclude: reasoning?.exclude,
    enabled: reasoning?.enabled
  })
  return Object.keys(asked).length === 0 ? {} : { reasoning: asked }
}
