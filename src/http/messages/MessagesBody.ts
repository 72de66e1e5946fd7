/**
 * Reads and checks the body of a request in Anthropic's form. What no target of the gateway can be given is refused by
 * its name; what only steers how Anthropic itself works is left out, and named in the answer.
 */
import { Exit, Result, Schema } from "effect"

import { InvalidRequest, UnsupportedParameter } from "../../api/Errors.ts"
import { MessagesRequest, MessageTokensRequest } from "../../api/MessagesRequest.ts"
import type { JsonObject } from "../../domain/JsonObject.ts"
import { cacheTtlOf, type WireCacheControl } from "../chat/CacheControlFromWire.ts"
import { decodedBody, fieldsIn, modelIsNoText, modelIsText } from "../completion/BodyFields.ts"
import { serviceNameOf, withChoices } from "../completion/ChoicesFromWire.ts"
import type { BodyError, ReadBody, RequestContext } from "../completion/ClientProtocol.ts"
import { badCallName, badContext, callNameIn } from "../completion/ContextChecks.ts"
import type { MessagesAsked } from "./MessageAnswer.ts"
import { askedOf, messagesInputOf } from "./MessagesInput.ts"
import { leftOutOf, unsupportedIn } from "./RefusedMembers.ts"

export interface MessagesReader {
  /** The model that a name of Anthropic's stands for. */
  readonly resolve: (name: string) => string
}

/** Parses, checks and translates a body. */
export const readMessagesBody = (
  text: string,
  context: RequestContext,
  reader: MessagesReader
): Result.Result<ReadBody<MessagesAsked>, BodyError> =>
  Result.flatMap(fieldsIn(text), (fields) => check(fields, context, reader, decodeMessages))

/** The same for a body whose tokens are counted: it needs no `max_tokens`. */
export const readMessageTokensBody = (
  text: string,
  context: RequestContext,
  reader: MessagesReader
): Result.Result<ReadBody<MessagesAsked>, BodyError> =>
  Result.flatMap(fieldsIn(text), (fields) => check(fields, context, reader, decodeTokens))

type Decode = (fields: JsonObject) => Exit.Exit<MessagesRequest, Schema.SchemaError>

const decodeMessages: Decode = Schema.decodeUnknownExit(MessagesRequest)
const decodeCounted = Schema.decodeUnknownExit(MessageTokensRequest)
const decodeTokens: Decode = (fields) => Exit.map(decodeCounted(fields), (wire) => ({ ...wire, max_tokens: 1 }))

const check = (
  fields: JsonObject,
  context: RequestContext,
  { resolve }: MessagesReader,
  decode: Decode
): Result.Result<ReadBody<MessagesAsked>, BodyError> => {
  const unsupported = unsupportedIn(fields)
  if (unsupported !== undefined) return Result.fail(UnsupportedParameter.of(unsupported))
  const error = badCallName(fields["metadata"]) ?? badContext(context)
  if (error !== undefined) return Result.fail(error)
  const hasText = modelIsText(fields)
  const decoded = decodedBody(decode(hasText ? fields : { ...fields, model: null }))
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
  const wire = decoded.success
  const inconsistent = badToolReferences(wire) ?? badCacheControl(wire)
  if (inconsistent !== undefined) return Result.fail(InvalidRequest.of(inconsistent))
  if (!hasText) return Result.fail(modelIsNoText())
  const dropped = leftOutOf(fields, serviceNameOf(context.autoModel))
  const input = messagesInputOf(wire, { context, callName: callNameIn(fields["metadata"]), dropped, resolve })
  const asked = askedOf(wire)
  return Result.map(withChoices(input, fields, context.autoModel), (chosen) => ({ input: chosen, asked }))
}

/** A tool result must answer an earlier call, and a forced tool must be among the tools. */
const badToolReferences = (wire: MessagesRequest): string | undefined => {
  const called = new Set<string>()
  for (const [at, { content }] of wire.messages.entries()) {
    if (typeof content === "string") continue
    for (const [index, block] of content.entries()) {
      if (block.type === "tool_use") called.add(block.id)
      if (block.type === "tool_result" && !called.has(block.tool_use_id))
        return `messages[${at}].content[${index}].tool_use_id: must equal the id of an earlier tool_use block`
    }
  }
  const choice = wire.tool_choice
  if (choice?.type !== "any" && choice?.type !== "tool") return undefined
  const names = new Set(wire.tools?.map(({ name }) => name))
  if (names.size === 0) return "tool_choice: must not force a call when tools is empty"
  return choice.type === "tool" && !names.has(choice.name)
    ? "tool_choice.name: must be the name of one of tools"
    : undefined
}

interface Marked {
  readonly cache_control?: WireCacheControl
}

/** The first mark with a lifetime that cannot be read, as a message that names it. */
const badCacheControl = (wire: MessagesRequest): string | undefined => {
  for (const [path, { cache_control }] of markedIn(wire))
    if (cacheTtlOf(cache_control) === "malformed")
      return `${path}cache_control.ttl: must be a duration such as 5m or 1h`
  return undefined
}

const markedIn = function* (wire: MessagesRequest): Generator<readonly [path: string, marked: Marked]> {
  yield ["", wire]
  for (const [at, tool] of (wire.tools ?? []).entries()) yield [`tools[${at}].`, tool]
  if (typeof wire.system === "object" && wire.system !== null)
    for (const [at, block] of wire.system.entries()) yield [`system[${at}].`, block]
  for (const [at, { content }] of wire.messages.entries()) {
    if (typeof content === "string") continue
    for (const [index, block] of content.entries()) {
      const path = `messages[${at}].content[${index}].`
      if ("cache_control" in block) yield [path, block]
      if (block.type !== "tool_result" || typeof block.content !== "object" || block.content === null) continue
      for (const [inner, part] of block.content.entries()) yield [`${path}content[${inner}].`, part]
    }
  }
}
