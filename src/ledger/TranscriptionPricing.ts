/**
 * The amount to hold for a transcription, and the usage for which it is billed. Pure.
 *
 * A model is priced by tokens or by time. By tokens, the provider's count is billed, or, if it gives none, a count
 * derived from the length of the audio and the words of the transcript. By time, the length that the gateway measured
 * is billed; the tokens are then only reported, at rates of zero.
 */
import { type Endpoint, isTranscription } from "../catalog/Model.ts"
import { billedMillis, costOf } from "../catalog/Price.ts"
import type { Picodollars } from "../domain/Money.ts"
import { textTokens, tokensPerAudioSecond } from "../domain/TokenCount.ts"
import type { Transcript, TranscriptionRequest } from "../domain/Transcription.ts"
import { type MeteredUsage, meteredUsage, none, promptTokens, type Usage, usageBounds } from "../domain/Usage.ts"

/** Transcription models count one token per 100 ms of audio, which was derived from OpenAI's bills. */
const tokensPerTranscribedSecond = 10

/** The output to expect of one second of speech: four words, as fast speakers manage, in a language with long words. */
const tokensPerSpokenSecond = 6

/** The parts of an endpoint on which a bill depends. */
export type PricedEndpoint = Pick<Endpoint, "maxOutputTokens" | "price" | "protocol">

/** The amount to hold before the provider is called. */
export const estimateTranscription = (endpoint: PricedEndpoint, request: TranscriptionRequest): Picodollars =>
  costOf(endpoint.price, { ...expectedUsage(endpoint, request), ...billedTime(endpoint, request) })

/** What audio of this length is expected to take. */
export const expectedUsage = (endpoint: PricedEndpoint, request: TranscriptionRequest): Usage =>
  derivedUsage(endpoint, request, Math.ceil((request.length.millis * tokensPerSpokenSecond) / 1_000))

/** What the endpoint that answered used, including the time if it is priced by time. */
export const billedUsage = (
  endpoint: PricedEndpoint,
  request: TranscriptionRequest,
  transcript: Transcript
): MeteredUsage => {
  const time = billedTime(endpoint, request)
  const timeIsEstimated = time.audioMillis !== undefined && request.length.basis !== "header"
  const derived = derivedUsage(endpoint, request, textTokens(transcript.text))
  const bounds = usageBounds({ promptTokens: promptTokens(derived), maxOutputTokens: endpoint.maxOutputTokens })
  const { text, usage: reported } = transcript
  const { unreported, ...metered } = meteredUsage({ reported, counted: () => derived, bounds, hasOutput: text !== "" })
  return {
    ...metered,
    usage: { ...metered.usage, ...time },
    estimated: metered.estimated || timeIsEstimated,
    // Tokens that cost nothing are not missed.
    ...(unreported && time.audioMillis === undefined && { unreported })
  }
}

const derivedUsage = (
  { maxOutputTokens, protocol }: PricedEndpoint,
  request: TranscriptionRequest,
  output: number
): Usage => ({
  ...none,
  input: textTokens(request.prompt ?? ""),
  audioInput: Math.ceil((request.length.millis * audioRateOf(protocol)) / 1_000),
  output: Math.min(output, maxOutputTokens)
})

const audioRateOf = (protocol: Endpoint["protocol"]): number =>
  isTranscription(protocol) ? tokensPerTranscribedSecond : tokensPerAudioSecond

const billedTime = ({ price }: PricedEndpoint, { length }: TranscriptionRequest): Pick<Usage, "audioMillis"> => {
  const audioMillis = billedMillis(price, length.millis)
  return audioMillis === undefined ? {} : { audioMillis }
}
