/**
 * A chat request in the form of OpenAI's Responses API. What the model or the API cannot do is refused here, before a
 * call is made.
 */
import { Result } from "effect"

import type { DialectName } from "../../../catalog/Provider.ts"
import type { ChatRequest } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { requestedOutputLimit } from "../shared/request/OutputLimits.ts"
import { acceptedSampling, canReason } from "../shared/request/Sampling.ts"
import { affinityHeaders, promptCacheKey, promptCacheRetention } from "../shared/request/SessionAffinity.ts"
import { onlyLocalStops } from "../shared/request/StopSequences.ts"
import { openAiEffort, type Thinking, thinkingOf } from "../shared/request/Thinking.ts"
import { unsupportedFailure } from "../shared/request/UnsupportedFeatures.ts"
import type { RequestBody } from "./Body.ts"
import { inputOf, takesBreakpoints } from "./Content.ts"

/** The HTTP request, or an `Unsupported` failure if the model or the API cannot do what it asks. */
export const encode = (call: WireCall): Result.Result<WireRequest<RequestBody>, Failure> => {
  const failure = unsupportedFailure(call, { forcedToolBesideReasoning: true, audioFormats: [], imageUrls: true })
  if (failure !== undefined) return Result.fail(failure)
  const dialect = dialects[call.dialect]
  return Result.succeed({
    path: "/responses",
    headers: affinityHeaders(call, dialect),
    body: bodyOf(call, dialect, thinkingOf(call))
  })
}

/** Penalties do not exist here. */
const bodyOf = (call: WireCall, dialect: Dialect, thinking: Thinking): RequestBody => {
  const { request } = call
  const { temperature, topP } = acceptedSampling(call, thinking, { unset: "reasons" })
  return {
    model: call.upstream,
    store: false,
    ...tools(call),
    input: inputOf(call),
    text: textFormat(request),
    max_output_tokens: outputLimitOf(call),
    temperature,
    top_p: topP,
    ...reasoning(call, dialect, thinking),
    prompt_cache_key: promptCacheKey(call, dialect),
    // Models that take breakpoints decide themselves how long they keep a prompt, and the newest refuse this member.
    prompt_cache_retention: takesBreakpoints(call) ? undefined : promptCacheRetention(call, dialect),
    stream: call.stream
  }
}

/** A part of the body. */
type Members<Name extends keyof RequestBody> = Pick<RequestBody, Name>

/** The API knows no stop sequences, so the gateway cuts the answer at all of them. */
export const localStops = ({ request }: WireCall): ReadonlyArray<string> => onlyLocalStops(request.stop).local

/** The servers that are known to read `strict` of a tool as OpenAI means it. */
const enforcesTools: ReadonlySet<DialectName> = new Set(["openai", "azure"])

/** Whether the server makes the arguments of strict tools conform to their schemas. */
export const takesStrictTools = ({ dialect }: WireCall): boolean => enforcesTools.has(dialect)

const tools = (call: WireCall): Members<"tools" | "tool_choice" | "parallel_tool_calls"> => {
  const { request } = call
  const hasTools = request.tools.length > 0
  return {
    tools: hasTools
      ? request.tools.map(({ description, name, parameters, strict = false }) => ({
          type: "function",
          name,
          description,
          parameters,
          strict: strict && takesStrictTools(call)
        }))
      : undefined,
    tool_choice: hasTools ? toolChoice(request) : undefined,
    parallel_tool_calls: hasTools && !request.parallelToolCalls ? false : undefined
  }
}

const toolChoice = ({ toolChoice: choice }: ChatRequest): RequestBody["tool_choice"] => {
  if (typeof choice === "object") return { type: "function", name: choice.name }
  return choice === "auto" ? undefined : choice
}

const textFormat = ({ responseFormat: format }: ChatRequest): RequestBody["text"] => {
  if (format.type === "text") return undefined
  if (format.type === "json_object") return { format: { type: "json_object" } }
  const { description, name, schema, strict } = format
  return { format: { type: "json_schema", name, description, schema, strict } }
}

/** The API refuses smaller limits. */
const minOutputTokens = 16

const outputLimitOf = (call: WireCall): number | undefined => {
  const limit = requestedOutputLimit(call)
  return limit === undefined ? undefined : Math.max(limit, minOutputTokens)
}

/** A limit that is too small for the API: the gateway cuts the answer at it. */
export const localLimit = (call: WireCall): number | undefined => {
  const limit = requestedOutputLimit(call)
  return limit !== undefined && limit < minOutputTokens ? limit : undefined
}

/** Servers that summarise their reasoning without being asked to. */
const summariseUnasked: ReadonlySet<DialectName> = new Set(["xai"])

const reasoning = (call: WireCall, dialect: Dialect, thinking: Thinking): Members<"reasoning" | "include"> => {
  if (!canReason(call.model)) return { reasoning: undefined, include: undefined }
  const hidden = thinking.state === "off" || call.request.reasoning?.exclude === true
  const effort = openAiEffort(dialect, thinking)
  const summary = hidden || summariseUnasked.has(call.dialect) ? undefined : "auto"
  return {
    reasoning: effort === undefined && summary === undefined ? undefined : { effort, summary },
    include: ["reasoning.encrypted_content"]
  }
}
