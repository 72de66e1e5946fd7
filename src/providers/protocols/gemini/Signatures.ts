/**
 * Thought signatures as reasoning details, and back on the part they came with. A signature is valid for one part of
 * one model's answer, so a detail identifies its part: a call by its id, text by its position and a digest of the text
 * up to its end. If the client has changed that text, the signature is not sent.
 */
import type { AssistantMessage, ReasoningDetail } from "../../../domain/Conversation.ts"
import { detailsFrom, signedTextHash, signedThinkingFrom, substituteDetailId } from "../shared/ReasoningDetails.ts"
import { digest, prefixDigests } from "../shared/request/WireIds.ts"
import type { GeminiTextPart } from "./Body.ts"

const format = "google-gemini-v1"

/** A thought. Clients join details of one index, so a thought with a signature needs an index of its own. */
export const thoughtDetail = (text: string, signature: string | undefined, index: number): ReasoningDetail => ({
  type: "reasoning.text",
  text,
  ...(signature !== undefined && {
    signature,
    id: substituteDetailId({ text: 0, calls: 0 }, { textHash: signedTextHash(text) })
  }),
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
  /** The text of the answer up to the end of the signed part. */
  readonly text: string
  /** Where the signed part begins in `text`; at its end for an empty part. */
  readonly start: number
  /** How many tool calls came before the part. */
  readonly calls: number
}

const partId = ({ calls, start, text }: SignedPart): string =>
  writtenPartId(calls, start, text.length, digest(text, digestLength))
const writtenPartId = (calls: number, start: number, end: number, textDigest: string): string =>
  `text:${calls}:${start}:${end}:${textDigest}`
const partIdPattern = /^text:(\d{1,9}):(\d{1,9}):(\d{1,9}):\w+$/
const digestLength = 12

/** The signature of a part of the text, which may be empty. */
export const textSignatureDetail = (part: SignedPart, signature: string, index: number): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data: signature,
  id: partId(part),
  format,
  index
})

/** A signed part of the text, from `start` to `end`. */
export interface SignedText {
  readonly start: number
  readonly end: number
  /** How many tool calls came before it. */
  readonly calls: number
  readonly signature: string
}

/** What goes back with a message of the model. */
export interface Signatures {
  readonly thoughts: ReadonlyArray<GeminiTextPart>
  /** In the order of the answer. They do not overlap. */
  readonly texts: ReadonlyArray<SignedText>
  readonly ofCall: (toolId: string) => string | undefined
}

/** What `origin` signed in `message`, whose text without separators is `answerText`. */
export const signaturesOf = (origin: string, message: AssistantMessage, answerText: string): Signatures => {
  const thoughts = signedThinkingFrom(origin, message).flatMap((thinking): ReadonlyArray<GeminiTextPart> => {
    if (thinking.type !== "text" || !isSignature(thinking.signature)) return []
    return [{ text: thinking.text, thought: true, thoughtSignature: thinking.signature }]
  })
  const texts: Array<SignedText> = []
  const calls = new Map<unknown, string>()
  const details = detailsFrom(origin, message).flatMap(({ data, id, type }) =>
    type === "reasoning.encrypted" && isSignature(data) ? [{ id, data, part: signedPartIn(id) }] : []
  )
  const digests = prefixDigests(
    answerText,
    details.flatMap(({ part }) => (part === undefined ? [] : [part.end])),
    digestLength
  )
  for (const { data, id, part } of details) {
    if (part === undefined) {
      calls.set(id, data)
      continue
    }
    const { calls: callsBefore, end, start } = part
    const unchanged = writtenPartId(callsBefore, start, end, digests.get(end) ?? "") === id
    if (unchanged && start >= (texts.at(-1)?.end ?? 0)) texts.push({ ...part, signature: data })
  }
  return { thoughts, texts, ofCall: (toolId) => calls.get(toolId) }
}

/** The part that an id names, or `undefined` for the id of a call. */
const signedPartIn = (id: unknown): Omit<SignedText, "signature"> | undefined => {
  const [, calls, start, end] = (partIdPattern.exec(String(id)) ?? []).map(Number)
  return calls === undefined || start === undefined || end === undefined ? undefined : { calls, start, end }
}

/** True for bytes in base64. Gemini refuses the whole request for anything else. */
const isSignature = (value: unknown): value is string =>
  typeof value === "string" && value.length % 4 === 0 && /^[\w+/-]+={0,2}$/.test(value)

/** The documented substitute for the signature of a call that another model made or whose signature is lost. */
export const missingSignature = "skip_thought_signature_validator"
