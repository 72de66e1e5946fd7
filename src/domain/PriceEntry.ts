/**
 * Prices, and rules for what is charged, as operators write them in catalog files and over HTTP.
 *
 * Prices are decimals in USD, per million tokens or per hour of audio. They are validated as text and never go through
 * floating-point arithmetic, and neither do factors:
 *
 *     { "factor": "1.25" }
 *     { "price_usd_per_mtok": { "input": 0.15, "output": "0.6" } }
 *     { "price_usd_per_audio_hour": 0.36, "minimum_audio_seconds": 10 }
 */
import { Schema } from "effect"

/** A decimal price as text. A JSON number of this size converts to exactly the text that it was written as. */
export const decimalPrice = /^(\d{1,6})(?:\.(\d{1,6}))?$/

const rateOf = (unit: string) =>
  Schema.Union([Schema.Finite, Schema.String]).check(
    Schema.makeFilter((rate) => decimalPrice.test(String(rate)), {
      expected: `USD per ${unit}, not negative, with at most six decimals`
    })
  )

const Rate = rateOf("million tokens")

/** A price by the time of audio. */
export const HourlyRate = rateOf("hour of audio")

const rateFields = {
  input: Rate,
  output: Rate,
  cache_read: Schema.optionalKey(Rate).annotateKey({ description: "Reading from a cache. Default: `input`." }),
  cache_write: Schema.optionalKey(Rate).annotateKey({
    description: "Writing to a cache that lives five minutes. Default: `input`."
  }),
  cache_write_1h: Schema.optionalKey(Rate).annotateKey({
    description: "Writing to a cache that lives an hour. Default: `cache_write`."
  }),
  audio_input: Schema.optionalKey(Rate).annotateKey({ description: "Audio in the prompt. Default: `input`." })
}

/** A number of tokens. The upper bound keeps sums well within the integers that a double represents exactly. */
export const TokenNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

export const PriceEntry = Schema.Struct({
  ...rateFields,
  tiers: Schema.optionalKey(
    Schema.Array(Schema.Struct({ above_prompt_tokens: TokenNumber, ...rateFields }))
  ).annotateKey({
    description:
      "Rates for the whole request once its prompt is larger than the threshold, in ascending order. A rate that a " +
      "tier leaves out has the same default as outside, taken from the tier's own rates."
  })
}).annotate({ description: "USD per million tokens, as a number or a string with at most six decimals." })
export type PriceEntry = typeof PriceEntry.Type

/** Ten minutes, far above the minimum of any provider. */
const minimumAudioSecondsMax = 600

/** Shorter audio is billed as if it were this long. */
export const MinimumAudioSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: minimumAudioSecondsMax }))

/** A factor as text: up to 1000, with at most six decimals. */
export const decimalFactor = /^(\d{1,3}|1000(?=$|\.0+$))(?:\.(\d{1,6}))?$/

export const ChargeFactor = Schema.String.check(
  Schema.isPattern(decimalFactor, { expected: 'a factor from 0 to 1000 as text, such as "1.25"' })
).annotate({ description: "What is charged, as a multiple of what the provider bills: a decimal from 0 to 1000." })

/** How one model is charged: a factor on the prices of its providers, or prices of its own. */
export const ChargeEntry = Schema.Struct({
  factor: Schema.optionalKey(ChargeFactor),
  price_usd_per_mtok: Schema.optionalKey(PriceEntry),
  price_usd_per_audio_hour: Schema.optionalKey(HourlyRate),
  minimum_audio_seconds: Schema.optionalKey(MinimumAudioSeconds)
})
  .check(
    Schema.makeFilter(
      (entry) =>
        [entry.factor, entry.price_usd_per_mtok, entry.price_usd_per_audio_hour].filter((one) => one !== undefined)
          .length === 1 &&
        (entry.minimum_audio_seconds === undefined || entry.price_usd_per_audio_hour !== undefined),
      { expected: "one of factor, price_usd_per_mtok and price_usd_per_audio_hour" }
    )
  )
  .annotate({ description: "A factor, or prices in place of those of the providers." })
export type ChargeEntry = typeof ChargeEntry.Type

/** What an organization is charged, where that differs from the catalog. */
export const PricingEntry = Schema.Struct({
  factor: Schema.optionalKey(ChargeFactor),
  models: Schema.optionalKey(Schema.Record(Schema.String, ChargeEntry)).annotateKey({
    description: "By the id of a model. It comes before the factor of the organization."
  })
})
export type PricingEntry = typeof PricingEntry.Type

/** Where a rule was given. The first of these that applies is the one that is used. */
export const chargeScopes = ["organization_model", "organization", "model", "provider", "catalog"] as const
export type ChargeScope = (typeof chargeScopes)[number]

/** The rule by which the price of a provider became the one that is charged. */
export const ChargeRule = Schema.Struct({ scope: Schema.Literals(chargeScopes), charge: ChargeEntry })
export type ChargeRule = typeof ChargeRule.Type
