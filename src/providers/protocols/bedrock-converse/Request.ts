/**
 * A chat request in the form of Amazon Bedrock's Converse. What the model or the API cannot do is refused here, before
 * a call is made.
 */
import { Result } from "effect"

import type { ChatRequest, Tool } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { commonImageTypes } from "../shared/DataUri.ts"
import { isBlank } from "../shared/Field.ts"
import { breakpoints } from "../shared/request/CacheBreakpoints.ts"
import { answerSchema, inputSchema } from "../shared/request/ClaudeSchema.ts"
import { outputLimit } from "../shared/request/OutputLimits.ts"
import { acceptedSampling, temperatureUpToOne } from "../shared/request/Sampling.ts"
import { visibleStops } from "../shared/request/StopSequences.ts"
import type { Thinking } from "../shared/request/Thinking.ts"
import { type AcceptedInput, unsupportedFailure } from "../shared/request/UnsupportedFeatures.ts"
import type { CachePointBlock, InferenceConfig, RequestBody, TextFormat, ToolConfig, ToolSpec } from "./Body.ts"
import { cachePoint, conversationOf, type PromptedRules } from "./Content.ts"
import { type ModelFamily, modelFamilyOf } from "./ModelFamilies.ts"

const acceptedInput: AcceptedInput = {
  forcedToolBesideReasoning: false,
  audioFormats: [],
  imageTypes: commonImageTypes,
  imageUrls: false
}

/** The HTTP request, or an `Unsupported` failure if the model or the API cannot do what it asks. */
export const encode = (call: WireCall): Result.Result<WireRequest<RequestBody>, Failure> => {
  const failure = unsupportedFailure(call, acceptedInput)
  if (failure !== undefined) return Result.fail(failure)
  const wire: WireRequest<RequestBody> = {
    path: `/model/${encodeURIComponent(call.upstream)}/${call.stream ? "converse-stream" : "converse"}`,
    headers: {},
    framing: "aws-event-stream",
    body: bodyOf(call)
  }
  return Result.succeed(wire)
}

const bodyOf = (call: WireCall): RequestBody => {
  const { responseFormat } = call.request
  const family = modelFamilyOf(call)
  const thinking = family.thinking(call)
  const tools = declaredTools(call)
  const textFormat = family.jsonSchema ? textFormatOf(responseFormat) : undefined
  const rules: PromptedRules = {
    format: textFormat === undefined ? responseFormat : { type: "text" },
    forbidsCalls: tools.length > 0 && !mayCallTools(call)
  }
  const marks = breakpoints(call.request)
  const { messages, system } = conversationOf(call, rules, marks)
  return {
    toolConfig: tools.length > 0 ? toolConfig(call, tools, (tool) => cachePoint(marks.get(tool), family)) : undefined,
    system: system.length > 0 ? system : undefined,
    messages,
    inferenceConfig: inferenceConfig(call, family, thinking),
    additionalModelRequestFields: family.modelFields(call, thinking),
    outputConfig: textFormat && { textFormat }
  }
}

/** Sequences of white space, which Claude refuses: the gateway cuts the answer at them. */
export const localStops = ({ request }: WireCall): ReadonlyArray<string> => visibleStops(request.stop).local

/** False when the client offers no tools or forbids their use. Converse has no choice `none` to pass that on. */
export const mayCallTools = ({ request }: WireCall): boolean =>
  request.tools.length > 0 && request.toolChoice !== "none"

/** A history with calls has to declare its tools, whether or not they may be called again. */
const declaredTools = (call: WireCall): ReadonlyArray<Tool> => {
  const { messages, tools } = call.request
  if (mayCallTools(call)) return tools
  const called = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []))
  if (called.length === 0) return []
  const names = new Set(called.map(({ name }) => name))
  return tools.length > 0 ? tools : Array.from(names, (name) => ({ name, parameters: {} }))
}

const toolConfig = (
  call: WireCall,
  tools: ReadonlyArray<Tool>,
  pointAfter: (tool: Tool) => ReadonlyArray<CachePointBlock>
): ToolConfig => ({
  tools: tools.flatMap((tool) => [{ toolSpec: toolSpec(tool) }, ...pointAfter(tool)]),
  toolChoice: mayCallTools(call) ? toolChoiceOf(call.request) : undefined
})

const toolSpec = ({ description, name, parameters }: Tool): ToolSpec => ({
  name,
  description: description !== undefined && !isBlank(description) ? description : undefined,
  inputSchema: { json: inputSchema(parameters) }
})

const toolChoiceOf = ({ toolChoice }: ChatRequest): ToolConfig["toolChoice"] => {
  if (typeof toolChoice === "object") return { tool: { name: toolChoice.name } }
  return toolChoice === "required" ? { any: {} } : undefined
}

/** Penalties do not exist. */
const inferenceConfig = (call: WireCall, family: ModelFamily, thinking: Thinking): InferenceConfig | undefined => {
  const stops = visibleStops(call.request.stop).sent
  const stopSequences = stops.length > 0 ? stops : undefined
  if (!family.acceptsLimits(thinking))
    return stopSequences && { maxTokens: undefined, temperature: undefined, topP: undefined, stopSequences }
  const accepted = acceptedSampling(call, thinking, { unset: "does not reason" })
  const temperature = temperatureUpToOne(accepted)
  return {
    maxTokens: outputLimit(call),
    temperature,
    topP: family.temperatureBesideTopP || temperature === undefined ? accepted.topP : undefined,
    stopSequences
  }
}

const textFormatOf = (format: ChatRequest["responseFormat"]): TextFormat | undefined =>
  format.type === "json_schema"
    ? {
        type: "json_schema",
        structure: {
          jsonSchema: {
            name: format.name,
            description: format.description,
            schema: JSON.stringify(answerSchema(format.schema))
          }
        }
      }
    : undefined
