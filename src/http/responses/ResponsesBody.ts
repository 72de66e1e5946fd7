/**
 * Reads and checks the body of a request for a response, in the order that chat requests are checked in. What needs a
 * server that keeps responses, or that runs tools itself, is refused by its name.
 */
import { Result, Schema } from "effect"

import { InvalidRequest, UnsupportedParameter } from "../../api/Errors.ts"
import type { ResponsesInputItem } from "../../api/ResponsesItems.ts"
import { ResponsesRequest as Wire } from "../../api/ResponsesRequest.ts"
import type { JsonObject } from "../../domain/JsonObject.ts"
import { ignoredParameters } from "../chat/IgnoredParameters.ts"
import { decodedBody, fieldsIn, modelIsNoText, modelIsText } from "../completion/BodyFields.ts"
import { serviceNameOf, withChoices } from "../completion/ChoicesFromWire.ts"
import type { BodyError, ReadBody, RequestContext } from "../completion/ClientProtocol.ts"
import { badCallName, badContext } from "../completion/ContextChecks.ts"
import { type ClientTools, clientToolsOf, functionName } from "./ClientTools.ts"
import type { ReasoningBlocks } from "./InputItems.ts"
import { decodedDetails } from "./ReasoningEnvelope.ts"
import { type ResponsesAsked, responsesAsked } from "./ResponsesAsked.ts"
import { allowedNames, responsesInputOf } from "./ResponsesInput.ts"
import { isLeftOut, unsupportedMember } from "./UnsupportedMembers.ts"

/** Parses, checks and translates a body. */
export const readResponsesBody = (
  text: string,
  context: RequestContext
): Result.Result<ReadBody<ResponsesAsked>, BodyError> =>
  Result.flatMap(fieldsIn(text), (fields) => check(fields, context))

const check = (fields: JsonObject, context: RequestContext): Result.Result<ReadBody<ResponsesAsked>, BodyError> => {
  const unsupported = unsupportedMember(fields)
  const error =
    (unsupported === undefined ? undefined : UnsupportedParameter.of(unsupported)) ??
    badCallName(fields["metadata"]) ??
    badContext(context)
  if (error !== undefined) return Result.fail(error)
  const hasText = modelIsText(fields)
  const sentTools = Array.isArray(fields["tools"]) ? fields["tools"] : []
  const leftOut = sentTools.filter(isLeftOut)
  const exit = decode({
    ...fields,
    ...(leftOut.length > 0 && { tools: sentTools.filter((tool) => !isLeftOut(tool)) }),
    ...(!hasText && { model: null })
  })
  const decoded = decodedBody(exit)
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
  const wire = decoded.success
  const tools = clientToolsOf(wire.tools ?? [])
  const blocks = reasoningBlocks(wire.input)
  const inconsistent =
    badItems(wire.input) ?? (Result.isFailure(blocks) ? blocks.failure : undefined) ?? badTools(wire, tools)
  if (inconsistent !== undefined) return Result.fail(InvalidRequest.of(inconsistent))
  if (!hasText) return Result.fail(modelIsNoText())
  const input = responsesInputOf(wire, { tools, blocks: Result.getOrElse(blocks, () => noBlocks) }, context)
  const ignored = [
    ...leftOut.map(({ type }) => `tools.${type}=omitted`),
    ...(input.ignored ?? []),
    ...ignoredParameters(fields, serviceNameOf(context.autoModel), readMembers)
  ]
  const asked = responsesAsked(fields, tools)
  const named = ignored.length === 0 ? input : { ...input, ignored }
  return Result.map(withChoices(named, fields, context.autoModel), (chosen) => ({ input: chosen, asked }))
}

const decode = Schema.decodeUnknownExit(Wire)

const readMembers: ReadonlySet<string> = new Set(Object.keys(Wire.fields).filter((name) => name !== "svc"))

const noBlocks: ReasoningBlocks = new Map()

/** The blocks of the reasoning items, which must be as the gateway wrote them; else what is wrong. */
const reasoningBlocks = (input: Wire["input"]): Result.Result<ReasoningBlocks, string> => {
  if (typeof input === "string") return Result.succeed(noBlocks)
  const items = input.filter((item) => !("role" in item) && item.type === "reasoning")
  if (items.length === 0) return Result.succeed(noBlocks)
  const contents = items.map((item) => ("encrypted_content" in item ? (item.encrypted_content ?? "") : ""))
  return Result.mapBoth(decodedDetails(contents), {
    onSuccess: (blocks) => new Map(items.map((item, index) => [item, blocks[index] ?? []])),
    onFailure: (bad) => {
      const index = input.findIndex((item) => item === items[bad])
      return `input[${index}].encrypted_content: must be as it was in the answer, or left out`
    }
  })
}

/** The output of a call must come after the call. */
const badItems = (input: Wire["input"]): string | undefined => {
  if (typeof input === "string") return undefined
  const called = new Set<string>()
  for (const [index, item] of input.entries()) {
    const problem = "role" in item ? undefined : badItem(item, called)
    if (problem !== undefined) return `input[${index}].${problem}`
  }
  return undefined
}

const badItem = (item: Exclude<ResponsesInputItem, { readonly role: string }>, called: Set<string>) => {
  switch (item.type) {
    case "reasoning":
      return undefined
    case "function_call":
    case "custom_tool_call":
      called.add(item.call_id)
      return undefined
    case "function_call_output":
    case "custom_tool_call_output":
      return called.has(item.call_id) ? undefined : "call_id: must equal the call_id of an earlier call"
  }
}

/** Names must tell tools apart, and a forced tool must be among the tools. */
const badTools = ({ tool_choice: choice }: Wire, tools: ClientTools): string | undefined => {
  if (tools.ambiguous !== undefined) return `tools: two tools have the name ${JSON.stringify(tools.ambiguous)}`
  if (choice === undefined || choice === null || choice === "auto" || choice === "none") return undefined
  if (typeof choice === "object" && choice.type === "allowed_tools") {
    const unknown = allowedNames(choice).some((name) => !tools.named.has(name))
    return unknown || choice.tools.length === 0 ? "tool_choice.tools: must be some of tools" : undefined
  }
  if (tools.functions.length === 0) return "tool_choice: must not force a call when tools is empty"
  return choice !== "required" && !tools.named.has(functionName(choice.name, undefined))
    ? "tool_choice.name: must be the name of one of tools"
    : undefined
}
