/**
 * Hints that an endpoint does not get: where a prompt should be cached and for how long, how closely an image should be
 * looked at, and that arguments must conform to their schema. Without them an answer may cost more, see less or be less
 * strict, so they are named like other parameters.
 */
import type { ProtocolName } from "../../catalog/Model.ts"
import type { Cacheable, ChatRequest } from "../../domain/Conversation.ts"
import { modelFamilyOf } from "./bedrock-converse/ModelFamilies.ts"
import { takesBreakpoints } from "./openai-responses/Content.ts"
import { takesStrictTools } from "./openai-responses/Request.ts"
import type { WireCall } from "./Protocol.ts"
import { type Dialect, dialects } from "./shared/Dialects.ts"
import { markedIn, withMarksOnTexts } from "./shared/request/CacheBreakpoints.ts"
import { promptCacheKey, promptCacheRetention } from "./shared/request/SessionAffinity.ts"

/** Each as `name=omitted`, or with what is sent in its place. */
export const omittedHints = (protocol: ProtocolName, wire: WireCall): ReadonlyArray<string> => {
  const { request } = wire
  const copiesOpenAi = protocol === "openai-chat" || protocol === "openai-responses"
  const dialect = copiesOpenAi ? dialects[wire.dialect] : undefined
  const omitted: ReadonlyArray<readonly [name: string, isOmitted: boolean]> = [
    ["prompt_cache_key", request.promptCacheKey !== undefined && !(dialect && promptCacheKey(wire, dialect))],
    ["prompt_cache_retention", request.promptCacheRetention !== undefined && !takesRetention(protocol, wire, dialect)],
    ["image_url.detail", !copiesOpenAi && asksForDetail(request)],
    ["tools.strict", request.tools.some(({ strict }) => strict) && !enforcesTools(protocol, wire)],
    ["tool_result.is_error", !knowsFailedTools.has(protocol) && hasFailedTool(request)]
  ]
  return [
    ...omitted.flatMap(([name, isOmitted]) => (isOmitted ? [`${name}=omitted`] : [])),
    ...cacheHints(protocol, wire)
  ]
}

const enforcesTools = (protocol: ProtocolName, wire: WireCall): boolean =>
  protocol === "openai-responses" && takesStrictTools(wire)

const takesRetention = (protocol: ProtocolName, wire: WireCall, dialect: Dialect | undefined): boolean =>
  dialect !== undefined &&
  !(protocol === "openai-responses" && takesBreakpoints(wire)) &&
  promptCacheRetention(wire, dialect) !== undefined

/** `auto` is what every model does without being asked. */
const asksForDetail = ({ messages }: ChatRequest): boolean =>
  messages.some(({ content }) =>
    content.some((part) => part.type === "image" && !["", "auto"].includes(part.detail ?? ""))
  )

/** Elsewhere the content of the result says alone that the tool failed. */
const knowsFailedTools: ReadonlySet<ProtocolName> = new Set(["anthropic-messages", "bedrock-converse"])

const hasFailedTool = ({ messages }: ChatRequest): boolean =>
  messages.some((message) => message.role === "tool" && message.isError === true)

/** Marks beyond those that a provider takes are not named, as long as it gets some of them. */
const cacheHints = (protocol: ProtocolName, wire: WireCall): ReadonlyArray<string> => {
  const { request } = wire
  const marked = markedIn(request)
  if (marked.length === 0 && request.cacheControl === undefined) return []
  const read = readMarks(protocol, wire)
  if (read.length === 0) return ["cache_control=omitted"]
  const isShortened = protocol === "bedrock-converse" && modelFamilyOf(wire).caching === "5m"
  return isShortened && read.some(({ cacheControl }) => cacheControl?.ttl === "1h") ? ["cache_control.ttl=5m"] : []
}

/** What carries a mark that this endpoint reads; the request itself, where it is marked as a whole. */
const readMarks = (protocol: ProtocolName, wire: WireCall): ReadonlyArray<Cacheable> => {
  const { request } = wire
  const whole: ReadonlyArray<Cacheable> = request.cacheControl === undefined ? [] : [request]
  switch (protocol) {
    case "anthropic-messages":
      return [...whole, ...markedIn(request)]
    case "bedrock-converse":
      return modelFamilyOf(wire).caching === "none" ? [] : [...whole, ...markedIn(request)]
    case "openai-chat":
      return dialects[wire.dialect].cacheControl ? [...whole, ...marksOnTexts(request)] : []
    case "openai-responses":
      return takesBreakpoints(wire) ? marksOfInput(request) : []
    default:
      return []
  }
}

const marksOnTexts = (request: ChatRequest): ReadonlyArray<Cacheable> =>
  markedIn({ ...request, messages: withMarksOnTexts(request.messages), tools: [] }).filter(isPart)

const marksOfInput = (request: ChatRequest): ReadonlyArray<Cacheable> =>
  markedIn({ ...request, messages: request.messages.filter(({ role }) => role !== "assistant"), tools: [] }).filter(
    isPart
  )

/** True for a part of a message, as opposed to a call or to a message as a whole. */
const isPart = (item: Cacheable): boolean => "type" in item
