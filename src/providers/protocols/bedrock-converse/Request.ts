/**
 * A request in Converse's form. What a model would refuse is settled before: a request that cannot be said faithfully
 * fails here and costs no call.
 */
import { Result } from "effect"

import { type ChatRequest, forcesTool, type ContentPart, type Tool } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { answerSchema, inputSchema } from "../shared/ClaudeSchema.ts"
import { dataUri } from "../shared/DataUri.ts"
import { unsupported } from "../shared/ErrorClassifier.ts"
import { isBlank } from "../shared/Field.ts"
import { outputLimit, type Thinking } from "../shared/Thinking.ts"
import { conversationOf } from "./Content.ts"
import { type ModelFamily, modelFamilyOf } from "./ModelFamilies.ts"

export const encode = (call: WireCall): Result.Result<WireRequest, Failure> => {
  const fault = unsayable(call) ?? unfetchedImage(call)
  if (fault !== undefined) return Result.fail(unsupported(fault))
  const { request } = call
  const family = modelFamilyOf(call)
  const thinking = family.thinking(call)
  const declared = declaredTools(call)
  const native = family.jsonSchema && request.responseFormat.type === "json_schema"
  const { messages, system } = conversationOf(call, {
    format: native ? { type: "text" } : request.responseFormat,
    withholdsTools: declared.length > 0 && !mayCallTools(call)
  })
  const inference = inferenceConfig(call, family, thinking)
  const additional = family.thinkingFields(call, thinking)
  return Result.succeed({
    path: `/model/${encodeURIComponent(call.upstream)}/${call.stream ? "converse-stream" : "converse"}`,
    headers: {},
    framing: "aws-event-stream",
    body: {
      ...(declared.length > 0 && { toolConfig: toolConfig(call, declared) }),
      ...(system.length > 0 && { system }),
      messages,
      ...(Object.keys(inference).length > 0 && { inferenceConfig: inference }),
      ...(Object.keys(additional).length > 0 && { additionalModelRequestFields: additional }),
      ...(native && { outputConfig: { textFormat: textFormat(request.responseFormat) } })
    }
  })
}

const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"]

const partsOf = ({ request }: WireCall): ReadonlyArray<ContentPart> =>
  request.messages.flatMap((message): ReadonlyArray<ContentPart> => message.content)

/** What this model or Bedrock cannot be asked, if anything. */
const unsayable = (call: WireCall): string | undefined => {
  const { model, request } = call
  if (forcesTool(request) && (!model.forcedToolChoice || model.reasoning.support === "always"))
    return `${model.id} cannot be forced to call a tool.`
  if (request.responseFormat.type === "json_schema" && !model.structuredOutput)
    return `${model.id} cannot answer in a given JSON schema.`
  const parts = partsOf(call)
  if (parts.some((part) => part.type === "audio")) return `${model.id} does not take audio.`
  const types = parts.flatMap((part) => (part.type === "image" ? (dataUri(part.url)?.mime ?? []) : []))
  const strange = types.find((type) => !imageTypes.includes(type))
  return strange && `${model.id} does not take images of type ${strange}.`
}

/** Bedrock does not fetch images, so one that is only named by its URL cannot be shown to it. */
const unfetchedImage = (call: WireCall): string | undefined =>
  partsOf(call).some((part) => part.type === "image" && dataUri(part.url) === undefined)
    ? `${call.model.id} takes images as data and not by their URL.`
    : undefined

/** Claude refuses blank stop sequences, so the gateway cuts at those itself. */
const isSendable = (sequence: string): boolean => !isBlank(sequence)
const sentStops = ({ request }: WireCall): ReadonlyArray<string> => request.stop.filter(isSendable)
export const localStops = ({ request }: WireCall): ReadonlyArray<string> =>
  request.stop.filter((sequence) => !isSendable(sequence) && sequence !== "")

/** False when a call of a tool would not be what the client asked for. There is no `none` to say so. */
export const mayCallTools = ({ request }: WireCall): boolean =>
  request.tools.length > 0 && request.toolChoice !== "none"

/** Those the client offers; and a history with calls has to declare tools, whether or not they may be called again. */
const declaredTools = (call: WireCall): ReadonlyArray<Tool> => {
  const { messages, tools } = call.request
  if (mayCallTools(call)) return tools
  const called = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []))
  if (called.length === 0) return []
  return tools.length > 0 ? tools : Array.from(new Set(called.map(toolName)), (name) => ({ name, parameters: {} }))
}

const toolName = ({ name }: { readonly name: string }): string => name

const toolConfig = (call: WireCall, tools: ReadonlyArray<Tool>): JsonObject => ({
  tools: tools.map(({ description, name, parameters }) => ({
    toolSpec: {
      name,
      ...(description !== undefined && !isBlank(description) && { description }),
      inputSchema: { json: inputSchema(parameters) }
    }
  })),
  ...(mayCallTools(call) && toolChoiceOf(call.request))
})

const toolChoiceOf = ({ toolChoice }: ChatRequest): JsonObject => {
  if (typeof toolChoice === "object") return { toolChoice: { tool: { name: toolChoice.name } } }
  return toolChoice === "required" ? { toolChoice: { any: {} } } : {}
}

/** Temperature ends at 1 for all makers, and penalties do not exist. */
const inferenceConfig = (call: WireCall, family: ModelFamily, thinking: Thinking): JsonObject => {
  const { model, request } = call
  const { temperature, topP } = request
  const stops = sentStops(call)
  const stopping = stops.length > 0 && { stopSequences: stops }
  if (!family.takesLimits(thinking)) return { ...stopping }
  const allowed = model.sampling === "always" || (model.sampling === "without_reasoning" && thinking.state !== "on")
  return {
    maxTokens: outputLimit(call),
    ...(allowed && temperature !== undefined && { temperature: Math.min(temperature, 1) }),
    ...(allowed && topP !== undefined && (family.bothSamplings || temperature === undefined) && { topP }),
    ...stopping
  }
}

/** The schema goes as text. */
const textFormat = (format: ChatRequest["responseFormat"]): JsonObject | undefined =>
  format.type === "json_schema"
    ? {
        type: "json_schema",
        structure: {
          jsonSchema: {
            name: format.name,
            ...(format.description !== undefined && { description: format.description }),
            schema: JSON.stringify(answerSchema(format.schema))
          }
        }
      }
    : undefined
