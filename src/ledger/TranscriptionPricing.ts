/**
 * What a transcription is held for, and what of it is billed. Pure.
 *
 * A model is priced by the token or by the time. By the token, the provider's count is billed, and where it gives none,
 * one derived from the length of the audio and the words of the transcript. By the time, the length that the gateway
 * measured is billed; tokens are then stated for information, at rates of zero.
 */
import { type Endpoint, isTranscription } from "../catalog/Model.ts"
import { billedMillis, costOf } from "../catalog/Price.ts"
import type { Picodollars } from "../domain/Money.ts"
import { textTokens, tokensPerAudioSecond } from "../domain/TokenCount.ts"
import type { Transcript, TranscriptionRequest } from "../domain/Transcription.ts"
import { type MeteredUsage, none, type Usage } from "../domain/Usage.ts"

/** Transcription models count one token per 100 ms of audio, as OpenAI's bills show. */
const tokensPerTranscribedSecond = 10

/** Output to expect of a second of speech: four words, as fast speakers say, in a language of long words. */
const tokensPerSpokenSecond = 6

/** What an endpoint's bill depends on. */
export type PricedEndpoint = Pick<Endpoint, "maxOutputTokens" | "price" | "protocol">

/** What to hold before the call. */
export const estimateTranscription = (endpoint: PricedEndpoint, request: TranscriptionRequest): Picodollars =>
  costOf(endpoint.price, {
    ...derived(endpoint, request, Math.ceil((request.length.millis * tokensPerSpokenSecond) / 1_000)),
    ...billedTime(endpoint, request)
  })

/** What the answering endpoint used, time included where it is priced by time. */
export const billedUsage = (
  endpoint: PricedEndpoint,
  request: TranscriptionRequest,
  transcript: Transcript
): MeteredUsage => {
  const time = billedTime(endpoint, request)
  const timeIsEstimated = time.audioMillis !== undefined && request.length.basis !== "header"
  return {
    usage: { ...(transcript.usage ?? derived(endpoint, request, textTokens(transcript.text))), ...time },
    estimated: transcript.usage === undefined || timeIsEstimated
  }
}

const derived = (
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
