/**
 * A request in Anthropic's form. What a model would refuse is settled before: a request that cannot be said faithfully
 * fails here and costs no call.
 */
import { Result } from "effect"

import { type ChatRequest, forcesTool, type ContentPart } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { automaticBreakpoint, ephemeral } from "../shared/CacheMarks.ts"
import { answerSchema, inputSchema } from "../shared/ClaudeSchema.ts"
import {
  thinkingBindingBeta,
  controlsThinkingBinding,
  claudeEffort,
  claudeThinking,
  claudeThinkingFields
} from "../shared/ClaudeThinking.ts"
import { dataUri } from "../shared/DataUri.ts"
import { dialects } from "../shared/Dialects.ts"
import { unsupported } from "../shared/ErrorClassifier.ts"
import { outputLimit, type Thinking } from "../shared/Thinking.ts"
import { conversationOf } from "./Content.ts"

/** The version that old and new models both accept. */
const apiVersion = "2023-06-01"

export const encode = (call: WireCall): Result.Result<WireRequest, Failure> => {
  const fault = unsayable(call)
  if (fault !== undefined) return Result.fail(unsupported(fault))
  const { request } = call
  const thinking = claudeThinking(call)
  const automatic = automaticBreakpoint(request)
  const format = nativeFormat(call)
  const { messages, system } = conversationOf(call, format === undefined ? request.responseFormat : { type: "text" })
  const binding = controlsThinkingBinding(call, thinking)
  const stops = sentStops(call)
  return Result.succeed({
    path: "/v1/messages",
    headers: { "anthropic-version": apiVersion, ...(binding && { "anthropic-beta": thinkingBindingBeta }) },
    body: {
      model: call.upstream,
      max_tokens: outputLimit(call),
      ...tools(request),
      ...(system.length > 0 && { system }),
      messages,
      ...(automatic && { cache_control: ephemeral(automatic) }),
      ...claudeThinkingFields(call, thinking, binding),
      ...outputConfig(thinking, format),
      ...sampling(call, thinking),
      ...(stops.length > 0 && { stop_sequences: stops }),
      stream: call.stream
    }
  })
}

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"]

/** What this model or Anthropic cannot be asked, if anything. */
const unsayable = (call: WireCall): string | undefined => {
  const { model, request } = call
  if (forcesTool(request) && (!model.forcedToolChoice || model.reasoning.support === "always"))
    return `${model.id} cannot be forced to call a tool.`
  if (request.responseFormat.type === "json_schema" && !model.structuredOutput)
    return `${model.id} cannot answer in a given JSON schema.`
  const parts = request.messages.flatMap((message): ReadonlyArray<ContentPart> => message.content)
  if (parts.some((part) => part.type === "audio")) return `${model.id} does not take audio.`
  const strange = parts
    .map((part) => (part.type === "image" ? dataUri(part.url) : undefined))
    .find((inline) => inline !== undefined && !imageTypes.includes(inline.mime))
  return strange && `${model.id} does not take images of type ${strange.mime}.`
}

/** Anthropic refuses blank stop sequences, so the gateway cuts at those itself. */
const isSendable = (sequence: string): boolean => sequence.trim() !== ""
const sentStops = ({ request }: WireCall): ReadonlyArray<string> => request.stop.filter(isSendable)
export const localStops = ({ request }: WireCall): ReadonlyArray<string> =>
  request.stop.filter((sequence) => !isSendable(sequence) && sequence !== "")

const tools = ({ parallelToolCalls, toolChoice, tools }: ChatRequest): JsonObject => {
  if (tools.length === 0) return {}
  const oneCall = parallelToolCalls || toolChoice === "none" ? {} : { disable_parallel_tool_use: true }
  return {
    tools: tools.map(({ description, name, parameters }) => ({
      name,
      ...(description !== undefined && { description }),
      input_schema: inputSchema(parameters)
    })),
    ...((toolChoice !== "auto" || !parallelToolCalls) && { tool_choice: { ...choiceOf(toolChoice), ...oneCall } })
  }
}

const choiceOf = (choice: ChatRequest["toolChoice"]): JsonObject => {
  if (typeof choice === "object") return { type: "tool", name: choice.name }
  return { type: choice === "required" ? "any" : choice }
}

/** The schema that this endpoint enforces, or `undefined` when the format has to be asked for in words. */
const nativeFormat = ({ dialect, request }: WireCall): JsonObject | undefined =>
  request.responseFormat.type === "json_schema" && dialects[dialect].jsonSchema
    ? { type: "json_schema", schema: answerSchema(request.responseFormat.schema) }
    : undefined

const outputConfig = (thinking: Thinking, format: JsonObject | undefined): JsonObject => {
  const effort = claudeEffort(thinking)
  return effort === undefined && format === undefined
    ? {}
    : { output_config: { ...(effort && { effort }), ...(format && { format }) } }
}

/** Temperature ends at 1 here, and newer models take one of the two only. Penalties do not exist. */
const sampling = ({ model, request }: WireCall, thinking: Thinking): JsonObject => {
  const allowed = model.sampling === "always" || (model.sampling === "without_reasoning" && thinking.state !== "on")
  if (!allowed) return {}
  if (request.temperature !== undefined) return { temperature: Math.min(request.temperature, 1) }
  return request.topP === undefined ? {} : { top_p: request.topP }
}
