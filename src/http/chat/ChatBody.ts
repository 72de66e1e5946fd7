/**
 * Reads and checks the body of a chat request, in the order that the contract gives to its errors. Every error names
 * the field and the rule, and none of them quotes the conversation.
 */
import { Result, Schema, Struct } from "effect"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"

import { ChatCompletionRequest as Wire } from "../../api/ChatRequest.ts"
import { InvalidRequest, UnsupportedParameter } from "../../api/Errors.ts"
import { isAbsent, type JsonObject } from "../../domain/JsonObject.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"
import { decodedBody, fieldsIn, modelIsNoText, modelIsText } from "../completion/BodyFields.ts"
import { choicesFrom, type Chosen, serviceNameOf } from "../completion/ChoicesFromWire.ts"
import type { BodyError, RequestContext } from "../completion/ClientProtocol.ts"
import { badCallName, badContext } from "../completion/ContextChecks.ts"
import { badCacheControl } from "./CacheControlFromWire.ts"
import { chatInputOf } from "./ChatInputFromWire.ts"
import { ignoredParameters } from "./IgnoredParameters.ts"

/** Parses, checks and translates a body. */
export const readChatBody = (text: string, context: RequestContext): Result.Result<ChatInput, BodyError> =>
  Result.flatMap(fieldsIn(text), (fields) => check(fields, context))

const check = (fields: JsonObject, context: RequestContext): Result.Result<ChatInput, BodyError> => {
  const error = unsupportedParameter(fields) ?? badCallName(fields["metadata"]) ?? badContext(context)
  if (error !== undefined) return Result.fail(error)
  return Result.flatMap(choicesFrom(fields, context.autoModel), (chosen) => decoded(fields, context, chosen))
}

const decoded = (fields: JsonObject, context: RequestContext, chosen: Chosen): Result.Result<ChatInput, BodyError> => {
  const hasText = modelIsText(fields)
  const exit = decode(hasText ? fields : { ...fields, model: null })
  const read = decodedBody(exit, "The request body is not a valid chat request")
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const wire = read.success
  const inconsistent = badToolReferences(wire) ?? badCacheControl(wire)
  if (inconsistent !== undefined) return Result.fail(InvalidRequest.of(inconsistent))
  if (!hasText) return Result.fail(modelIsNoText())
  const input = { ...chatInputOf(wire, context), ...chosen }
  const ignored = ignoredParameters(fields, serviceNameOf(context.autoModel), readMembers)
  return Result.succeed(ignored.length === 0 ? input : { ...input, ignored })
}

/** The member of the service has another name at every service, so it is read by itself. */
const Parameters = Wire.mapFields(Struct.omit(["svc"]))
type Parameters = typeof Parameters.Type
// Compiled when the first request comes: interpreted, the schema takes thirty times as long.
SchemaJITCompiler.enable(Parameters.ast)
const decode = Schema.decodeUnknownExit(Parameters)

const readMembers: ReadonlySet<string> = new Set(Object.keys(Parameters.fields))

const unsupportedParameters = ["audio", "web_search_options", "functions", "function_call"] as const

const unsupportedParameter = (fields: JsonObject): UnsupportedParameter | undefined => {
  if (typeof fields["n"] === "number" && fields["n"] > 1) {
    return UnsupportedParameter.of("n must be 1 or omitted: exactly one choice is returned")
  }
  for (const name of unsupportedParameters) {
    if (!isAbsent(fields[name])) return UnsupportedParameter.of(`${name} is not supported${alternatives[name] ?? ""}`)
  }
  const modalities = fields["modalities"]
  return Array.isArray(modalities) && modalities.includes("audio")
    ? UnsupportedParameter.of("modalities must be omitted or only text: audio output is not supported")
    : undefined
}

const alternatives: { readonly [name: string]: string } = {
  functions: "; use tools",
  function_call: "; use tool_choice"
}

/** A tool result must answer an earlier call, and a forced tool must be among the tools. */
const badToolReferences = (wire: Parameters): string | undefined => {
  const called = new Set<string>()
  for (const [index, message] of wire.messages.entries()) {
    if (message.role === "assistant") message.tool_calls?.forEach((call) => called.add(call.id))
    if (message.role === "tool" && !called.has(message.tool_call_id)) {
      return `messages[${index}].tool_call_id: must equal an id of an earlier tool_calls entry`
    }
  }
  const choice = wire.tool_choice
  if (choice === undefined || choice === null || choice === "auto" || choice === "none") return undefined
  const names = new Set(wire.tools?.map((tool) => tool.function.name))
  if (names.size === 0) return "tool_choice: must not force a call when tools is empty"
  return choice !== "required" && !names.has(choice.function.name)
    ? "tool_choice.function.name: must be the name of one of tools"
    : undefined
}
