/**
 * What a request can cost at most, for organizations whose balance can never go below zero. Pure.
 *
 * The bound of a prompt comes from its bytes and not from an estimate: the tokenizers of all providers work on bytes or
 * fall back to them, so no text has more tokens than bytes. Images, audio and what a provider adds have figures that
 * are above what providers document. A charge is cut to the hold even where a figure here turns out to be too low.
 */
import type { Endpoint } from "../catalog/Model.ts"
import { costOf, type Price, type Rates } from "../catalog/Price.ts"
import type { CacheControl, ChatRequest, ContentPart, Message } from "../domain/Conversation.ts"
import { max, type Picodollars, picodollars, zero } from "../domain/Money.ts"
import { tokensPerAudioSecond } from "../domain/TokenCount.ts"
import type { TranscriptionRequest } from "../domain/Transcription.ts"
import { none } from "../domain/Usage.ts"
import { estimateTranscription, type PricedEndpoint } from "./TranscriptionPricing.ts"

/** Roles, separators, names and the like. Providers use three to eight tokens. */
const maxTokensPerMessage = 16
const maxTokensPerTool = 64
/** What a provider puts before a prompt, and its instructions for tools and JSON: Anthropic has up to 700 tokens. */
const maxAddedTokens = 64
const maxInstructionTokens = 1_024
/** OpenAI counts up to 10,000 patches for an image at its original size, and Anthropic up to 4,784 tokens. */
const maxTokensPerImage = 12_000
/** Opus has the lowest bit rate of the accepted formats: 6 kbit/s. */
const leastAudioBytesPerSecond = 750

/** The most tokens that a prompt can have. */
export interface PromptBound {
  readonly text: number
  readonly audio: number
  /** Whether a part of it may be written to a cache for an hour, which costs more than for five minutes. */
  readonly cachesForHour: boolean
}

export const promptBound = (request: ChatRequest): PromptBound => {
  const { messages, responseFormat, tools } = request
  const schema = responseFormat.type === "json_schema" ? jsonBytes(responseFormat) : 0
  const instructions = tools.length > 0 || responseFormat.type !== "text" ? maxInstructionTokens : 0
  const described = tools.reduce((total, tool) => total + maxTokensPerTool + jsonBytes(tool), schema + instructions)
  return {
    text: messages.reduce((total, message) => total + messageBound(message), maxAddedTokens + described),
    audio: messages.reduce((total, { content }) => content.reduce((sum, part) => sum + audioBound(part), total), 0),
    cachesForHour: [request, ...tools, ...messages.flatMap(cacheables)].some(
      ({ cacheControl }) => cacheControl?.ttl === "1h"
    )
  }
}

const messageBound = (message: Message): number => {
  const content = message.content.reduce((total, part) => total + textBound(part), maxTokensPerMessage)
  if (message.role !== "assistant") return content
  const { reasoning = "", reasoningDetails, refusal = "", toolCalls } = message
  const calls = toolCalls.reduce((total, call) => total + maxTokensPerTool + jsonBytes(call), 0)
  return content + calls + bytes(refusal) + bytes(reasoning) + jsonBytes(reasoningDetails)
}

const textBound = (part: ContentPart): number =>
  part.type === "text" ? bytes(part.text) : part.type === "image" ? maxTokensPerImage : 0

const audioBound = (part: ContentPart): number =>
  part.type === "audio" ? audioTokensIn((part.data.length * 3) / 4) : 0

const audioTokensIn = (size: number): number => Math.ceil((size / leastAudioBytesPerSecond) * tokensPerAudioSecond)

const cacheables = (message: Message): ReadonlyArray<{ readonly cacheControl?: CacheControl }> => [
  ...message.content,
  ...(message.role === "assistant" ? message.toolCalls : []),
  ...(message.role === "tool" ? [message] : [])
]

const bytes = (text: string): number => Buffer.byteLength(text)
const jsonBytes = (json: unknown): number => bytes(JSON.stringify(json))

/** The parts of an endpoint on which the most that a request can cost depends. */
export type BoundedEndpoint = Pick<Endpoint, "contextWindow" | "maxOutputTokens" | "price">

/** What a prompt of this bound and so many output tokens can cost at most. */
export const worstCost = (endpoint: BoundedEndpoint, bound: PromptBound, outputTokens: number): Picodollars => {
  const { divisor, outputRate, prompt } = worstParts(endpoint, bound)
  return picodollars((prompt + BigInt(outputTokens) * outputRate + divisor - 1n) / divisor)
}

/** The most output tokens, up to `limit`, with which a request costs at most `most`; negative if there are none. */
export const outputWithin = (
  endpoint: BoundedEndpoint,
  bound: PromptBound,
  { limit, most }: { readonly limit: number; readonly most: Picodollars }
): number => {
  const { divisor, outputRate, prompt } = worstParts(endpoint, bound)
  const left = most * divisor - prompt
  if (left < 0n) return -1
  return outputRate === zero ? limit : Math.min(limit, Number(left / outputRate))
}

/** What a prompt and a token of output can cost at most, in parts of a picodollar. */
const worstParts = ({ contextWindow, price }: BoundedEndpoint, bound: PromptBound) => {
  const [text, audio] = [Math.min(bound.text, contextWindow), Math.min(bound.audio, contextWindow)]
  const { audioRate, outputRate, textRate } = worstRates(price, bound)
  return { divisor: price.divisor ?? 1n, outputRate, prompt: BigInt(text) * textRate + BigInt(audio) * audioRate }
}

/** The dearest rates of all price tiers that the prompt can reach. */
const worstRates = ({ rates, tiers }: Price, { audio, cachesForHour, text }: PromptBound) => {
  const reached = [rates, ...tiers.filter((tier) => text + audio > tier.abovePromptTokens).map((tier) => tier.rates)]
  const textRate = dearest(reached, ["input", "cacheRead", "cacheWrite5m", ...(cachesForHour ? hourly : [])])
  return {
    textRate,
    audioRate: dearest([{ textRate, audioRate: dearest(reached, ["audioInput"]) }], ["textRate", "audioRate"]),
    outputRate: dearest(reached, ["output"])
  }
}

const hourly = ["cacheWrite1h"] as const satisfies ReadonlyArray<keyof Rates>

const dearest = <K extends string>(
  rates: ReadonlyArray<{ readonly [k in K]: Picodollars }>,
  buckets: ReadonlyArray<K>
): Picodollars => rates.flatMap((one) => buckets.map((bucket) => one[bucket])).reduce(max, zero)

/**
 * What a transcription can cost at most. By time it is what it will cost. By tokens, its length is that of its header,
 * or as long as a file of its size can be.
 */
export const worstTranscription = (
  endpoint: PricedEndpoint & BoundedEndpoint,
  request: TranscriptionRequest
): Picodollars => {
  const { contextWindow, maxOutputTokens, price } = endpoint
  const { file, length, prompt = "" } = request
  const audio =
    length.basis === "header"
      ? Math.ceil((length.millis * tokensPerAudioSecond) / 1_000)
      : audioTokensIn(file.bytes.byteLength)
  const usage = {
    ...none,
    input: Math.min(maxInstructionTokens + bytes(prompt), contextWindow),
    audioInput: Math.min(audio, contextWindow),
    output: maxOutputTokens
  }
  const [byTokens, expected] = [costOf(price, usage), estimateTranscription(endpoint, request)]
  return max(byTokens, expected)
}
