/**
 * Thought signatures as reasoning details, and back on the part they came with. A signature is valid for one part of
 * one model's answer, so a detail names its part: the call by its id, the text by its place and a digest of what was
 * said up to its end. Where the client changed that, the signature stays behind.
 */
import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import { digest } from "../shared/WireIds.ts"

const format = "google-gemini-v1"

/** A thought. One with a signature has an index of its own, so that it is never joined with another. */
export const thoughtDetail = (text: string, signature: string | undefined, index: number): ReasoningDetail => ({
  type: "reasoning.text",
  text,
  ...(signature !== undefined && { signature }),
  format,
  index
})

/** The signature of a tool call. */
export const callSignatureDetail = (toolId: string, signature: string, index: number): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data: signature,
  id: toolId,
  format,
  index
})

interface SignedPart {
  /** Everything the model said, up to the end of the signed part. */
  readonly said: string
  /** Where the signed part begins in `said`; at its end for an empty part. */
  readonly start: number
  /** Tool calls that came before the part. */
  readonly calls: number
}

const partId = ({ calls, said, start }: SignedPart): string =>
  `text:${calls}:${start}:${said.length}:${digest(said, digestLength)}`
const partIdPattern = /^text:(\d{1,9}):(\d{1,9}):(\d{1,9}):\w+$/
const digestLength = 12

/** The signature of a part of the text, which may be empty. */
export const textSignatureDetail = (place: SignedPart, signature: string, index: number): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data: signature,
  id: partId(place),
  format,
  index
})

export interface SignedText {
  readonly start: number
  readonly end: number
  readonly calls: number
  readonly signature: string
}

export interface Signatures {
  readonly thoughts: ReadonlyArray<JsonObject>
  /** In the order of the answer, and not overlapping. */
  readonly texts: ReadonlyArray<SignedText>
  readonly ofCall: (toolId: string) => string | undefined
}

/** What `origin` signed in `message`, whose text is `whole`. */
export const signaturesOf = (origin: string, message: AssistantMessage, whole: string): Signatures => {
  const thoughts: Array<JsonObject> = []
  const texts: Array<SignedText> = []
  const calls = new Map<unknown, string>()
  for (const { data, id, signature, text, type } of detailsFrom(origin, message)) {
    if (type === "reasoning.text" && isSignature(signature) && typeof text === "string")
      thoughts.push({ text, thought: true, thoughtSignature: signature })
    if (type !== "reasoning.encrypted" || !isSignature(data)) continue
    const [, before, start, end] = (partIdPattern.exec(String(id)) ?? []).map(Number)
    if (before === undefined || start === undefined || end === undefined) calls.set(id, data)
    else if (partId({ said: whole.slice(0, end), start, calls: before }) === id && start >= (texts.at(-1)?.end ?? 0))
      texts.push({ start, end, calls: before, signature: data })
  }
  return { thoughts, texts, ofCall: (toolId) => calls.get(toolId) }
}

/** Bytes in base64; anything else is refused together with the whole request. */
const isSignature = (value: unknown): value is string =>
  typeof value === "string" && value.length % 4 === 0 && /^[\w+/-]+={0,2}$/.test(value)

/** The documented stand-in for a call that was made by another model or lost its signature. */
export const missingSignature = "skip_thought_signature_validator"
