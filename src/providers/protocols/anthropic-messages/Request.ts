/**
 * A chat request in the form of Anthropic's Messages API. What the model or the API cannot do is refused here, before a
 * call is made.
 */
import { Result } from "effect"

import type { ChatRequest } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { commonImageTypes } from "../shared/DataUri.ts"
import { dialects } from "../shared/Dialects.ts"
import { automaticBreakpoint, ephemeral } from "../shared/request/CacheBreakpoints.ts"
import { answerSchema, inputSchema } from "../shared/request/ClaudeSchema.ts"
import {
  claudeEffort,
  claudeThinking,
  claudeThinkingParameter,
  controlsThinkingBinding,
  thinkingBindingBeta
} from "../shared/request/ClaudeThinking.ts"
import { describedSchema } from "../shared/request/JsonSchema.ts"
import { outputLimit } from "../shared/request/OutputLimits.ts"
import { acceptedSampling, temperatureUpToOne } from "../shared/request/Sampling.ts"
import { visibleStops } from "../shared/request/StopSequences.ts"
import type { Thinking } from "../shared/request/Thinking.ts"
import { unsupportedFailure } from "../shared/request/UnsupportedFeatures.ts"
import type { AnswerFormat, OutputConfig, RequestBody } from "./Body.ts"
import { type CacheMarks, cacheMarks, conversationOf } from "./Content.ts"

/** The version that old and new models both accept. */
const apiVersion = "2023-06-01"

/** The HTTP request, or an `Unsupported` failure if the model or the API cannot do what it asks. */
export const encode = (call: WireCall): Result.Result<WireRequest<RequestBody>, Failure> => {
  const failure = unsupportedFailure(call, {
    forcedToolBesideReasoning: false,
    audioFormats: [],
    imageTypes: commonImageTypes,
    imageUrls: true
  })
  if (failure !== undefined) return Result.fail(failure)
  const thinking = claudeThinking(call)
  const beta = controlsThinkingBinding(call, thinking) ? { "anthropic-beta": thinkingBindingBeta } : {}
  return Result.succeed({
    path: "/v1/messages",
    headers: { "anthropic-version": apiVersion, ...beta },
    body: bodyOf(call, thinking)
  })
}

const bodyOf = (call: WireCall, thinking: Thinking): RequestBody => {
  const { request } = call
  const automatic = automaticBreakpoint(request)
  const format = nativeFormat(call)
  const marks = cacheMarks(request)
  const prompted = format === undefined ? request.responseFormat : ({ type: "text" } as const)
  const { messages, system } = conversationOf(call, prompted, marks)
  const stops = visibleStops(request.stop).sent
  return {
    model: call.upstream,
    max_tokens: outputLimit(call),
    ...tools(request, marks),
    system: system.length > 0 ? system : undefined,
    messages,
    cache_control: automatic && ephemeral(automatic),
    thinking: claudeThinkingParameter(call, thinking),
    output_config: outputConfig(thinking, format),
    ...sampling(call, thinking),
    stop_sequences: stops.length > 0 ? stops : undefined,
    stream: call.stream
  }
}

/** A part of the body. */
type Members<Name extends keyof RequestBody> = Pick<RequestBody, Name>

/** Sequences of white space, which the API refuses: the gateway cuts the answer at them. */
export const localStops = ({ request }: WireCall): ReadonlyArray<string> => visibleStops(request.stop).local

const tools = (request: ChatRequest, marks: CacheMarks): Members<"tools" | "tool_choice"> => {
  const hasTools = request.tools.length > 0
  return {
    tools: hasTools
      ? request.tools.map((tool) => ({
          name: tool.name,
          description: tool.description,
          input_schema: inputSchema(tool.parameters),
          cache_control: marks.get(tool)
        }))
      : undefined,
    tool_choice: hasTools ? toolChoice(request) : undefined
  }
}

const choiceTypes = { auto: "auto", none: "none", required: "any" } as const

const toolChoice = ({ parallelToolCalls, toolChoice: choice }: ChatRequest): RequestBody["tool_choice"] => {
  if (choice === "auto" && parallelToolCalls) return undefined
  return {
    type: typeof choice === "object" ? "tool" : choiceTypes[choice],
    name: typeof choice === "object" ? choice.name : undefined,
    disable_parallel_tool_use: parallelToolCalls || choice === "none" ? undefined : true
  }
}

/** The schema that this endpoint enforces, or `undefined` when the format has to be asked for in a sentence. */
const nativeFormat = ({ dialect, request }: WireCall): AnswerFormat | undefined =>
  request.responseFormat.type === "json_schema" && dialects[dialect].jsonSchema
    ? { type: "json_schema", schema: answerSchema(describedSchema(request.responseFormat)) }
    : undefined

const outputConfig = (thinking: Thinking, format: AnswerFormat | undefined): OutputConfig | undefined => {
  const effort = claudeEffort(thinking)
  return effort === undefined && format === undefined ? undefined : { effort, format }
}

/** Newer models accept only one of the two. Penalties do not exist. */
const sampling = (call: WireCall, thinking: Thinking): Members<"temperature" | "top_p"> => {
  const accepted = acceptedSampling(call, thinking, { unset: "does not reason" })
  const temperature = temperatureUpToOne(accepted)
  return { temperature, top_p: temperature === undefined ? accepted.topP : undefined }
}
