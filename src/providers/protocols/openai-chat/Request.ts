/**
 * A request in OpenAI's form, with the accent of the server that gets it. What a model would refuse is settled before:
 * a request that cannot be said faithfully fails here and costs no call.
 */
import { Result } from "effect"

import { type ChatRequest, forcesTool, type ContentPart } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { ephemeral } from "../shared/CacheMarks.ts"
import { type Dialect, dialects, thinkingSwitches } from "../shared/Dialects.ts"
import { unsupported } from "../shared/ErrorClassifier.ts"
import { outputLimit, type Thinking, thinkingOf } from "../shared/Thinking.ts"
import { cacheKey } from "../shared/WireIds.ts"
import { messagesOf } from "./Content.ts"

export const encode = (call: WireCall): Result.Result<WireRequest, Failure> => {
  const dialect = dialects[call.dialect]
  const fault = unsayable(call, dialect)
  if (fault !== undefined) return Result.fail(unsupported(fault))
  const thinking = thinkingOf(call)
  const header = dialect.affinity?.header
  return Result.succeed({
    path: "/chat/completions",
    headers: header !== undefined && call.affinity !== undefined ? { [header]: call.affinity } : {},
    body: {
      model: call.upstream,
      ...tools(call, dialect),
      messages: messagesOf(call),
      ...responseFormat(call.request, dialect),
      ...limits(call, dialect),
      ...sampling(call, dialect, thinking),
      ...reasoning(call, dialect, thinking),
      ...caching(call, dialect),
      ...dialect.constants,
      stream: call.stream,
      ...(call.stream && dialect.requestsStreamUsage && { stream_options: { include_usage: true } })
    }
  })
}

/** What this model or server cannot be asked, if anything. */
const unsayable = (call: WireCall, dialect: Dialect): string | undefined => {
  const { model, request } = call
  if (forcesTool(request) && !model.forcedToolChoice) return `${model.id} cannot be forced to call a tool.`
  if (request.responseFormat.type === "json_schema" && !model.structuredOutput)
    return `${model.id} cannot answer in a given JSON schema.`
  const audio = request.messages
    .flatMap((message): ReadonlyArray<ContentPart> => message.content)
    .filter((part) => part.type === "audio")
    .find((part) => !dialect.audio.formats.includes(part.format))
  return audio && `${model.id} is not reached with ${audio.format} audio.`
}

/** Sequences that the gateway has to cut at, because the model refuses `stop`. */
export const localStops = (call: WireCall): ReadonlyArray<string> =>
  dialects[call.dialect].stopWithReasoning || call.model.reasoning.support === "none" ? [] : call.request.stop

const tools = (call: WireCall, dialect: Dialect): JsonObject => {
  const { parallelToolCalls, toolChoice, tools } = call.request
  if (tools.length === 0) return {}
  return {
    tools: tools.map(({ description, name, parameters }) => ({
      type: "function",
      function: { name, ...(description !== undefined && { description }), parameters }
    })),
    ...(toolChoice !== "auto" && { tool_choice: toolChoiceOf(toolChoice, dialect) }),
    ...(!parallelToolCalls && { parallel_tool_calls: false }),
    ...(call.stream && dialect.toolStreamConstants)
  }
}

const toolChoiceOf = (choice: ChatRequest["toolChoice"], dialect: Dialect): unknown => {
  if (typeof choice === "object") return { type: "function", function: { name: choice.name } }
  return choice === "required" ? dialect.requiredTool : choice
}

const responseFormat = ({ responseFormat }: ChatRequest, dialect: Dialect): JsonObject => {
  if (responseFormat.type === "text") return {}
  if (responseFormat.type === "json_object" || !dialect.jsonSchema) return { response_format: { type: "json_object" } }
  const { description, name, schema, strict } = responseFormat
  return {
    response_format: {
      type: "json_schema",
      json_schema: { name, ...(description !== undefined && { description }), schema, strict }
    }
  }
}

const limits = (call: WireCall, dialect: Dialect): JsonObject => ({
  ...(call.request.maxOutputTokens !== undefined && { [dialect.maxTokens]: outputLimit(call) }),
  ...(call.request.stop.length > 0 && localStops(call).length === 0 && { stop: call.request.stop })
})

const sampling = ({ model, request }: WireCall, dialect: Dialect, thinking: Thinking): JsonObject => {
  const reasons = model.reasoning.support !== "none"
  const allowed =
    model.sampling === "always" || (model.sampling === "without_reasoning" && (!reasons || thinking.state === "off"))
  const penalties = dialect.penalties === "always" || (dialect.penalties === "without reasoning" && !reasons)
  return {
    ...(allowed && request.temperature !== undefined && { temperature: request.temperature }),
    ...(allowed && request.topP !== undefined && { top_p: request.topP }),
    ...(allowed &&
      penalties &&
      request.frequencyPenalty !== undefined && { frequency_penalty: request.frequencyPenalty }),
    ...(allowed && penalties && request.presencePenalty !== undefined && { presence_penalty: request.presencePenalty })
  }
}

const reasoning = (call: WireCall, dialect: Dialect, thinking: Thinking): JsonObject => {
  const { support } = call.model.reasoning
  if (support === "none") return {}
  if (dialect.thinkingSwitch === "reasoning") return openRouterReasoning(call, thinking)
  return {
    ...(thinking.state !== "unset" &&
      support === "optional" &&
      thinkingSwitches[dialect.thinkingSwitch](thinking.state === "on")),
    ...effort(dialect, thinking),
    ...dialect.reasoningConstants
  }
}

const effort = (dialect: Dialect, thinking: Thinking): JsonObject => {
  if (thinking.state === "off") return dialect.effort === "levels and none" ? { reasoning_effort: "none" } : {}
  return thinking.state === "on" && thinking.effort !== undefined && dialect.effort !== "none"
    ? { reasoning_effort: thinking.effort }
    : {}
}

/** OpenRouter takes the wish itself, budgets included. */
const openRouterReasoning = ({ request }: WireCall, thinking: Thinking): JsonObject => {
  if (request.reasoning === undefined) return {}
  const { exclude, maxTokens } = request.reasoning
  const how = () => {
    if (thinking.state === "off") return { enabled: false }
    if (maxTokens !== undefined && request.reasoning?.effort === undefined) return { max_tokens: maxTokens }
    return thinking.state === "on"
      ? thinking.effort === undefined
        ? { enabled: true }
        : { effort: thinking.effort }
      : {}
  }
  return { reasoning: { ...how(), ...(exclude && { exclude: true }) } }
}

/** The client's cache key comes first; a session without one is kept together by its affinity. */
const caching = ({ affinity, request }: WireCall, dialect: Dialect): JsonObject => {
  const key = request.promptCacheKey ?? affinity
  const { cacheControl, promptCacheRetention } = request
  const field = dialect.affinity?.field
  return {
    ...(dialect.promptCacheKey && key !== undefined && { prompt_cache_key: cacheKey(key) }),
    ...(dialect.promptCacheRetention &&
      promptCacheRetention !== undefined && { prompt_cache_retention: promptCacheRetention }),
    ...(dialect.cacheControl && cacheControl && { cache_control: ephemeral(cacheControl) }),
    ...(field !== undefined && affinity !== undefined && { [field]: affinity })
  }
}
