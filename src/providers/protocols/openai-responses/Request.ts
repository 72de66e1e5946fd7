/**
 * A request in the form of OpenAI's Responses API. What a model would refuse is settled before: a request that cannot
 * be said faithfully fails here and costs no call.
 */
import { Result } from "effect"

import type { DialectName } from "../../../catalog/Provider.ts"
import { type ChatRequest, forcesTool, modalitiesOf } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { unsupported } from "../shared/ErrorClassifier.ts"
import { outputLimit, type Thinking, thinkingOf } from "../shared/Thinking.ts"
import { cacheKey } from "../shared/WireIds.ts"
import { inputOf, takesBreakpoints } from "./Content.ts"

export const encode = (call: WireCall): Result.Result<WireRequest, Failure> => {
  const fault = unsayable(call)
  if (fault !== undefined) return Result.fail(unsupported(fault))
  const dialect = dialects[call.dialect]
  const thinking = thinkingOf(call)
  const header = dialect.affinity?.header
  return Result.succeed({
    path: "/responses",
    headers: header !== undefined && call.affinity !== undefined ? { [header]: call.affinity } : {},
    body: {
      model: call.upstream,
      store: false,
      ...tools(call.request),
      input: inputOf(call),
      ...textFormat(call.request),
      ...limits(call),
      ...sampling(call, thinking),
      ...reasoning(call, dialect, thinking),
      ...caching(call, dialect),
      stream: call.stream
    }
  })
}

/** What this model or the API cannot be asked, if anything. */
const unsayable = ({ model, request }: WireCall): string | undefined => {
  if (forcesTool(request) && !model.forcedToolChoice) return `${model.id} cannot be forced to call a tool.`
  if (request.responseFormat.type === "json_schema" && !model.structuredOutput)
    return `${model.id} cannot answer in a given JSON schema.`
  return modalitiesOf(request).audio ? `${model.id} does not take audio.` : undefined
}

/** The API knows no stop sequences, so all of them are cut here. */
export const localStops = ({ request }: WireCall): ReadonlyArray<string> =>
  request.stop.filter((sequence) => sequence !== "")

/** Left out, `strict` can mean true here, and loose schemas would be refused. */
const tools = ({ parallelToolCalls, toolChoice, tools }: ChatRequest): JsonObject => {
  if (tools.length === 0) return {}
  return {
    tools: tools.map(({ description, name, parameters }) => ({
      type: "function",
      name,
      ...(description !== undefined && { description }),
      parameters,
      strict: false
    })),
    ...(toolChoice !== "auto" && {
      tool_choice: typeof toolChoice === "object" ? { type: "function", name: toolChoice.name } : toolChoice
    }),
    ...(!parallelToolCalls && { parallel_tool_calls: false })
  }
}

const textFormat = ({ responseFormat }: ChatRequest): JsonObject => {
  if (responseFormat.type === "text") return {}
  if (responseFormat.type === "json_object") return { text: { format: { type: "json_object" } } }
  const { description, name, schema, strict } = responseFormat
  const described = description === undefined ? {} : { description }
  return { text: { format: { type: "json_schema", name, ...described, schema, strict } } }
}

/** The API refuses smaller limits. */
const minOutputTokens = 16

const limits = (call: WireCall): JsonObject =>
  call.request.maxOutputTokens === undefined ? {} : { max_output_tokens: Math.max(outputLimit(call), minOutputTokens) }

/** Penalties do not exist here. */
const sampling = ({ model, request }: WireCall, thinking: Thinking): JsonObject => {
  const reasons = model.reasoning.support !== "none"
  const allowed =
    model.sampling === "always" || (model.sampling === "without_reasoning" && (!reasons || thinking.state === "off"))
  return {
    ...(allowed && request.temperature !== undefined && { temperature: request.temperature }),
    ...(allowed && request.topP !== undefined && { top_p: request.topP })
  }
}

/** Servers that sum up their reasoning without being asked to. */
const sumsUpUnasked: ReadonlySet<DialectName> = new Set(["xai"])

/** Models that do not reason refuse all of this. */
const reasoning = (call: WireCall, dialect: Dialect, thinking: Thinking): JsonObject => {
  if (call.model.reasoning.support === "none") return {}
  const hidden = thinking.state === "off" || call.request.reasoning?.exclude === true
  const how = { ...effort(dialect, thinking), ...(!hidden && !sumsUpUnasked.has(call.dialect) && { summary: "auto" }) }
  return {
    ...(Object.keys(how).length > 0 && { reasoning: how }),
    include: ["reasoning.encrypted_content"]
  }
}

const effort = (dialect: Dialect, thinking: Thinking): JsonObject => {
  if (thinking.state === "off") return dialect.effort === "levels and none" ? { effort: "none" } : {}
  return thinking.state === "on" && thinking.effort !== undefined && dialect.effort !== "none"
    ? { effort: thinking.effort }
    : {}
}

/**
 * The client's cache key comes first; a session without one is kept together by its affinity. Models that take
 * breakpoints decide themselves how long they keep a prompt, and the newest refuse to be told.
 */
const caching = (call: WireCall, dialect: Dialect): JsonObject => {
  const { affinity, request } = call
  const key = request.promptCacheKey ?? affinity
  const retention = request.promptCacheRetention
  const tellsRetention = dialect.promptCacheRetention && !takesBreakpoints(call)
  return {
    ...(dialect.promptCacheKey && key !== undefined && { prompt_cache_key: cacheKey(key) }),
    ...(tellsRetention && retention !== undefined && { prompt_cache_retention: retention })
  }
}
