/**
 * Refuses a request that a model or its protocol cannot carry out as it was asked. This happens before the provider is
 * called, so that a refusal costs nothing and another model can take over. What each field of a request becomes is in
 * the protocol's `FieldTable`; hints that cannot be sent are dropped there and are no reason to refuse.
 */
import { type AudioFormat, type ChatRequest, type ContentPart, forcesTool } from "../../../../domain/Conversation.ts"
import type { Failure } from "../../../../domain/Failure.ts"
import type { WireCall } from "../../Protocol.ts"
import { dataUri } from "../DataUri.ts"
import { dialects } from "../Dialects.ts"
import { unsupported } from "../errors/ErrorClassifier.ts"

/** What a protocol accepts, where protocols differ. */
export interface AcceptedInput {
  /** A tool can be forced on a model whose reasoning cannot be switched off. */
  readonly forcedToolBesideReasoning: boolean
  /** Audio formats it accepts; empty where the API takes no audio at all. */
  readonly audioFormats: ReadonlyArray<AudioFormat>
  /** MIME types of images sent as data. Absent where every type is passed on. */
  readonly imageTypes?: ReadonlyArray<string>
  /** Images can be given by their URL. */
  readonly imageUrls: boolean
  /** Which tool names it accepts, and the rule for the message that names it. */
  readonly toolNames?: { readonly pattern: RegExp; readonly rule: string }
}

/** `Unsupported` with the first reason found, or `undefined` when the request can be sent. */
export const unsupportedFailure = (call: WireCall, accepted: AcceptedInput): Failure | undefined => {
  const reason = unsupportedByModel(call, accepted) ?? unsupportedContent(call.request, accepted)
  return reason === undefined ? undefined : unsupported(`${call.model.id} ${reason}.`)
}

const unsupportedByModel = ({ dialect, model, request }: WireCall, accepted: AcceptedInput): string | undefined => {
  const { forcedToolBesideReasoning, toolNames } = accepted
  const canForce = model.forcedToolChoice && (forcedToolBesideReasoning || model.reasoning.support !== "always")
  if (forcesTool(request) && !canForce) return "cannot be forced to call a tool"
  // A schema that the server can only be asked for in words would bind nobody.
  if (request.responseFormat.type === "json_schema" && !(model.structuredOutput && dialects[dialect].jsonSchema))
    return "cannot answer in a given JSON schema"
  return toolNames !== undefined && request.tools.some(({ name }) => !toolNames.pattern.test(name))
    ? `takes tools whose names ${toolNames.rule}`
    : undefined
}

const unsupportedContent = (request: ChatRequest, accepted: AcceptedInput): string | undefined => {
  const { audioFormats, imageTypes, imageUrls } = accepted
  const parts = request.messages.flatMap((message): ReadonlyArray<ContentPart> => message.content)
  const audio = parts.filter((part) => part.type === "audio").find(({ format }) => !audioFormats.includes(format))
  if (audio !== undefined)
    return audioFormats.length === 0 ? "does not take audio" : `is not reached with ${audio.format} audio`
  const images = parts.flatMap((part) => (part.type === "image" ? [dataUri(part.url)] : []))
  const image = images.find((inline) => inline && imageTypes !== undefined && !imageTypes.includes(inline.mime))
  if (image !== undefined) return `does not take images of type ${image.mime}`
  return !imageUrls && images.includes(undefined) ? "takes images as data and not by their URL" : undefined
}
