import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { costOf, type Price } from "../../src/catalog/Price.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { textTokens } from "../../src/domain/TokenCount.ts"
import type { AudioLength, Transcript, TranscriptionRequest } from "../../src/domain/Transcription.ts"
import { none } from "../../src/domain/Usage.ts"
import { billedUsage, estimateTranscription, type PricedEndpoint } from "../../src/ledger/TranscriptionPricing.ts"

const rate = (amount: bigint) => picodollars(amount)
const rates = { input: rate(1n), cacheRead: rate(1n), cacheWrite5m: rate(1n), cacheWrite1h: rate(1n) }
const tokenPrice: Price = { rates: { ...rates, audioInput: rate(100n), output: rate(10_000n) }, tiers: [] }
const free = rate(0n)
const timePrice: Price = {
  rates: {
    input: free,
    cacheRead: free,
    cacheWrite5m: free,
    cacheWrite1h: free,
    audioInput: free,
    output: free,
    audioHour: rate(3_600_000n)
  },
  tiers: [],
  minimumAudioMillis: 10_000
}

const byToken: PricedEndpoint = { protocol: "openai-transcription", price: tokenPrice, maxOutputTokens: 2_000 }
const byTime: PricedEndpoint = { ...byToken, price: timePrice }

const requestOf = (millis: number, more: Partial<TranscriptionRequest> = {}): TranscriptionRequest => ({
  file: { name: "a.wav", extension: "wav", bytes: new Uint8Array(1) },
  length: { millis, basis: "header" },
  temperature: 0,
  ...more
})

const text = "The quick brown fox jumps over the lazy dog."
const counted = { ...none, input: 4, audioInput: 37, output: 12 }
const silent: Transcript = { text, usage: undefined }

describe("estimateTranscription", () => {
  it("holds the cost of the audio, of the prompt and of as many words as a fast speaker says", () => {
    const cases: ReadonlyArray<readonly [PricedEndpoint, TranscriptionRequest, bigint]> = [
      [byToken, requestOf(1_000), 10n * 100n + 6n * 10_000n],
      [byToken, requestOf(1), 100n + 10_000n],
      [byToken, requestOf(1_000, { prompt: "hello" }), 1n + 10n * 100n + 6n * 10_000n],
      // The output is limited by the model.
      [byToken, requestOf(3_600_000), 36_000n * 100n + 2_000n * 10_000n],
      // For a chat model, the highest rate of any provider is assumed.
      [{ ...byToken, protocol: "gemini" }, requestOf(1_000), 32n * 100n + 6n * 10_000n]
    ]
    for (const [endpoint, request, held] of cases) assert.strictEqual(estimateTranscription(endpoint, request), held)
  })

  it("holds the cost of the time, and at least of the minimum, for a model that is priced by time", () => {
    assert.strictEqual(estimateTranscription(byTime, requestOf(3_600_000, { prompt: text })), 3_600_000n)
    assert.strictEqual(estimateTranscription(byTime, requestOf(1)), 10_000n)
  })

  it.prop(
    "never falls when the audio is longer, and covers the charge of a model that is priced by time",
    { millis: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 })), byTime: Schema.Boolean },
    ({ byTime: isByTime, millis }) => {
      const endpoint = isByTime ? byTime : byToken
      const held = estimateTranscription(endpoint, requestOf(millis))
      assert.isTrue(held > 0n && held <= estimateTranscription(endpoint, requestOf(millis + 1)))
      const { usage } = billedUsage(byTime, requestOf(millis), silent)
      assert.isTrue(costOf(timePrice, usage) <= estimateTranscription(byTime, requestOf(millis)))
    }
  )
})

describe("billedUsage", () => {
  it("is what the provider reported", () => {
    assert.deepStrictEqual(billedUsage(byToken, requestOf(1_000), { text, usage: counted }), {
      usage: counted,
      estimated: false
    })
  })

  it("is derived if the provider reported nothing: a token per 100 ms, the prompt, and the words", () => {
    const derived = { ...none, input: textTokens("foxes"), audioInput: 13, output: textTokens(text) }
    const request = requestOf(1_201, { prompt: "foxes" })
    assert.deepStrictEqual(billedUsage(byToken, request, silent), {
      usage: derived,
      estimated: true,
      unreported: true
    })
    const short = { ...byToken, maxOutputTokens: 3 }
    assert.strictEqual(billedUsage(short, request, silent).usage.output, 3)
    const chat: PricedEndpoint = { ...byToken, protocol: "openai-chat" }
    assert.strictEqual(billedUsage(chat, request, silent).usage.audioInput, 39)
    assert.strictEqual(billedUsage(byToken, request, { text: "", usage: undefined }).usage.output, 0)
  })

  it("is the time, or at least the minimum, for a model that is priced by time, with tokens that cost nothing", () => {
    const of = (millis: number, basis: AudioLength["basis"], usage: Transcript["usage"]) =>
      billedUsage(byTime, requestOf(millis, { length: { millis, basis } }), { text, usage })
    assert.deepStrictEqual(of(61_234, "header", counted), {
      usage: { ...counted, audioMillis: 61_234 },
      estimated: false
    })
    assert.strictEqual(costOf(timePrice, of(61_234, "header", counted).usage), 61_234n)
    assert.strictEqual(costOf(timePrice, of(5, "header", counted).usage), 10_000n)
    // An estimate is marked as one: the length of a file that is not WAV, and tokens that the provider did not report.
    assert.deepStrictEqual(
      [of(5, "size", counted), of(5, "broken_header", counted), of(5, "header", undefined)].map((one) => one.estimated),
      [true, true, true]
    )
  })

  it("counts for itself, and says so, where more is reported than the model can have consumed", () => {
    const derived = { ...none, audioInput: 10, output: textTokens(text) }
    for (const usage of [
      { ...counted, output: 2_001 },
      { ...counted, audioInput: 300_000 + 20 + 1 },
      { ...counted, audioInput: 1e300 }
    ])
      assert.deepStrictEqual(billedUsage(byToken, requestOf(1_000), { text, usage }), {
        usage: derived,
        estimated: true,
        implausible: usage
      })
    const most = { ...none, audioInput: 300_000 + 20, output: 2_000 }
    assert.deepStrictEqual(billedUsage(byToken, requestOf(1_000), { text, usage: most }), {
      usage: most,
      estimated: false
    })
  })

  it("counts what is missing, and says so, where zero is reported for words", () => {
    const derived = { ...none, audioInput: 10, output: textTokens(text) }
    const of = (usage: Transcript["usage"], words = text) =>
      billedUsage(byToken, requestOf(1_000), { text: words, usage })
    assert.deepStrictEqual(of(none), { usage: derived, estimated: true, implausible: none })
    const noOutput = { ...none, audioInput: 37 }
    const withOutput = { ...noOutput, output: derived.output }
    assert.deepStrictEqual(of(noOutput), { usage: withOutput, estimated: true, implausible: noOutput })
    const noAudio = { ...none, output: 12 }
    assert.deepStrictEqual(of(noAudio), { usage: { ...derived, output: 12 }, estimated: true, implausible: noAudio })
    assert.deepStrictEqual(of(none, ""), { usage: none, estimated: false })
  })

  it("does not miss tokens that cost nothing", () => {
    const time = { audioMillis: 10_000 }
    const usage = { ...none, audioInput: 10, output: textTokens(text), ...time }
    assert.deepStrictEqual(billedUsage(byTime, requestOf(1_000), silent), { usage, estimated: true })
  })
})
