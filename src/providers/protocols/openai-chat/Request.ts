/**
 * A chat request in OpenAI's form and in the dialect of the server that gets it. What the model or the server cannot do
 * is refused here, before a call is made.
 */
import { Result } from "effect"

import type { ChatRequest } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { ephemeral } from "../shared/request/CacheBreakpoints.ts"
import { outputLimit, requestedOutputLimit } from "../shared/request/OutputLimits.ts"
import { acceptedSampling, canReason } from "../shared/request/Sampling.ts"
import { affinityHeaders, promptCacheKey, promptCacheRetention } from "../shared/request/SessionAffinity.ts"
import { openAiEffort, type Thinking, thinkingOf } from "../shared/request/Thinking.ts"
import { unsupportedFailure } from "../shared/request/UnsupportedFeatures.ts"
import type { OpenRouterReasoning, RequestBody } from "./Body.ts"
import { asksInWords, messagesOf } from "./Content.ts"

/** The HTTP request, or an `Unsupported` failure if the model or the server cannot do what it asks. */
export const encode = (call: WireCall): Result.Result<WireRequest<RequestBody>, Failure> => {
  const dialect = dialects[call.dialect]
  const failure = unsupportedFailure(call, {
    forcedToolBesideReasoning: true,
    audioFormats: dialect.audio.formats,
    imageUrls: true
  })
  if (failure !== undefined) return Result.fail(failure)
  return Result.succeed({
    path: "/chat/completions",
    headers: affinityHeaders(call, dialect),
    body: bodyOf(call, dialect, thinkingOf(call))
  })
}

const bodyOf = (call: WireCall, dialect: Dialect, thinking: Thinking): RequestBody => {
  const { request, stream } = call
  return {
    model: call.upstream,
    ...tools(call, dialect),
    messages: messagesOf(call),
    response_format: responseFormat(request, dialect),
    ...limits(call, dialect),
    ...sampling(call, dialect, thinking),
    ...reasoning(call, dialect, thinking),
    prompt_cache_key: promptCacheKey(call, dialect),
    prompt_cache_retention: promptCacheRetention(call, dialect),
    cache_control: dialect.cacheControl && request.cacheControl ? ephemeral(request.cacheControl) : undefined,
    session_id: dialect.affinity?.field === "session_id" ? call.affinity : undefined,
    store: dialect.storesAnswers ? false : undefined,
    stream,
    stream_options: stream && dialect.requestsStreamUsage ? { include_usage: true } : undefined
  }
}

/** A part of the body. */
type Members<Name extends keyof RequestBody> = Pick<RequestBody, Name>

const tools = (
  { request, stream }: WireCall,
  dialect: Dialect
): Members<"tools" | "tool_choice" | "parallel_tool_calls" | "tool_stream"> => {
  const hasTools = request.tools.length > 0
  return {
    tools: hasTools
      ? request.tools.map(({ description, name, parameters }) => ({
          type: "function",
          function: { name, description, parameters }
        }))
      : undefined,
    tool_choice: hasTools ? toolChoice(request, dialect) : undefined,
    parallel_tool_calls: hasTools && !request.parallelToolCalls ? false : undefined,
    tool_stream: hasTools && stream && dialect.requestsToolStream ? true : undefined
  }
}

const toolChoice = ({ toolChoice: choice }: ChatRequest, dialect: Dialect): RequestBody["tool_choice"] => {
  if (typeof choice === "object") return { type: "function", function: { name: choice.name } }
  if (choice === "required") return dialect.requiredTool
  return choice === "none" ? "none" : undefined
}

const responseFormat = (request: ChatRequest, dialect: Dialect): RequestBody["response_format"] => {
  const { responseFormat: format } = request
  if (format.type === "text" || asksInWords(request, dialect)) return undefined
  if (format.type === "json_object" || !dialect.jsonSchema) return { type: "json_object" }
  const { description, name, schema, strict } = format
  return { type: "json_schema", json_schema: { name, description, schema, strict } }
}

/** Sequences that the gateway has to cut the answer at, because the model refuses `stop`. */
export const localStops = ({ dialect, model, request }: WireCall): ReadonlyArray<string> =>
  dialects[dialect].stopWithReasoning || !canReason(model) ? [] : request.stop

const limits = (call: WireCall, dialect: Dialect): Members<"max_completion_tokens" | "max_tokens" | "stop"> => {
  const limit = requestedOutputLimit(call)
  const { stop } = call.request
  return {
    max_completion_tokens: dialect.maxTokens === "max_completion_tokens" ? limit : undefined,
    max_tokens: dialect.maxTokens === "max_tokens" ? limit : undefined,
    stop: stop.length > 0 && localStops(call).length === 0 ? stop : undefined
  }
}

const sampling = (
  call: WireCall,
  dialect: Dialect,
  thinking: Thinking
): Members<"temperature" | "top_p" | "frequency_penalty" | "presence_penalty"> => {
  const { frequencyPenalty, presencePenalty, temperature, topP } = acceptedSampling(call, thinking, {
    unset: "reasons"
  })
  const penalties =
    dialect.penalties === "always" || (dialect.penalties === "without reasoning" && !canReason(call.model))
  return {
    temperature,
    top_p: topP,
    frequency_penalty: penalties ? frequencyPenalty : undefined,
    presence_penalty: penalties ? presencePenalty : undefined
  }
}

type ReasoningMembers = Members<
  | "thinking"
  | "reasoning"
  | "enable_thinking"
  | "thinking_budget"
  | "chat_template_kwargs"
  | "reasoning_effort"
  | "include_reasoning"
  | "reasoning_split"
>

/** Models that do not reason get none of these members. */
const reasoning = (call: WireCall, dialect: Dialect, thinking: Thinking): ReasoningMembers => {
  const reasons = canReason(call.model)
  const on = switchState(call, thinking)
  return {
    thinking: on === undefined ? undefined : thinkingObject(dialect, on),
    reasoning: reasons ? reasoningObject(call, dialect, thinking) : undefined,
    enable_thinking: dialect.thinkingSwitch === "enable_thinking" ? on : undefined,
    thinking_budget:
      dialect.thinkingSwitch === "enable_thinking" && thinking.state === "on" ? qwenBudget(call, thinking) : undefined,
    chat_template_kwargs:
      dialect.thinkingSwitch === "chat_template_kwargs" && on !== undefined ? { enable_thinking: on } : undefined,
    reasoning_effort: reasons ? openAiEffort(dialect, thinking) : undefined,
    include_reasoning: reasons && dialect.reasoningSwitch === "include_reasoning" ? true : undefined,
    reasoning_split: reasons && dialect.reasoningSwitch === "reasoning_split" ? true : undefined
  }
}

/** The budget that the model is steered by, or the client's own where the catalog knows no limits of it. */
const qwenBudget = (call: WireCall, { budget }: { readonly budget?: number }): number | undefined => {
  const asked = call.request.reasoning?.maxTokens
  return budget ?? (asked === undefined ? undefined : Math.min(asked, outputLimit(call)))
}

/** Whether thinking is switched on or off. Models that cannot do both have no switch. */
const switchState = ({ model }: WireCall, thinking: Thinking): boolean | undefined =>
  model.reasoning.support === "optional" && thinking.state !== "unset" ? thinking.state === "on" : undefined

const thinkingObject = ({ thinkingSwitch }: Dialect, on: boolean): RequestBody["thinking"] => {
  const type = on ? "enabled" : "disabled"
  if (thinkingSwitch === "thinking, kept") return { type, clear_thinking: false }
  return thinkingSwitch === "thinking" ? { type, clear_thinking: undefined } : undefined
}

const reasoningObject = (call: WireCall, dialect: Dialect, thinking: Thinking): OpenRouterReasoning | undefined => {
  if (dialect.thinkingSwitch === "reasoning object") return openRouterReasoning(call, thinking)
  const on = switchState(call, thinking)
  return dialect.thinkingSwitch === "reasoning.enabled" && on !== undefined ? { enabled: on } : undefined
}

/** OpenRouter takes what the client requested as it is, budgets included. */
const openRouterReasoning = (
  { request: { reasoning: requested } }: WireCall,
  thinking: Thinking
): OpenRouterReasoning | undefined => {
  if (requested === undefined) return undefined
  const exclude = requested.exclude ? true : undefined
  if (thinking.state === "off") return { enabled: false, exclude }
  if (requested.maxTokens !== undefined && requested.effort === undefined)
    return { max_tokens: requested.maxTokens, exclude }
  if (thinking.state === "unset") return { exclude }
  return thinking.effort === undefined ? { enabled: true, exclude } : { effort: thinking.effort, exclude }
}
