/**
 * The JSON form of the catalog: the shipped `catalog.json` and the operator's `CATALOG_FILE` have this one schema.
 *
 * Unknown fields are refused everywhere, because a misspelled `cache_reed` that loads in silence bills wrongly for
 * months. Prices are decimals of USD, per million tokens or per hour of audio; they are checked as text and never take
 * part in float arithmetic. An endpoint without a price does not load; a free one says 0.
 *
 *     { "providers": [{ "id": "acme", "protocol": "openai-chat", "base_url": "https://api.acme.dev/v1" }],
 *       "models": [{ "id": "acme-1", "context_window": 131072, "max_output": 16384,
 *                    "endpoints": [{ "provider": "acme", "price_usd_per_mtok": { "input": 0.15, "output": "0.6" } }]
 *                  }],
 *       "transcription_models": [{ "id": "acme-ear",
 *                    "endpoints": [{ "provider": "acme", "price_usd_per_audio_hour": 0.36 }] }] }
 */
import { Data, Result, Schema, SchemaIssue } from "effect"

import { type Axis, axes, chatProtocolNames, modelEfforts } from "./Model.ts"
import { dialectNames } from "./Provider.ts"

/** A catalog that cannot be used. `message` begins with `path`, for example `models[3].endpoints[0].upstream`. */
export class CatalogError extends Data.TaggedError("CatalogError")<{
  readonly path: string
  readonly message: string
}> {}

/** What a check of catalog files makes of them. */
export type CatalogResult<A> = Result.Result<A, CatalogError>

export const catalogFault = (path: string, rule: string): CatalogError =>
  new CatalogError({ path, message: path === "" ? rule : `${path}: ${rule}` })

/** What a decimal price looks like as text; a JSON number of this size prints back exactly as it was written. */
export const decimalPrice = /^(\d{1,6})(?:\.(\d{1,6}))?$/

const rateOf = (unit: string) =>
  Schema.Union([Schema.Finite, Schema.String]).check(
    Schema.makeFilter((rate) => decimalPrice.test(String(rate)), {
      expected: `USD per ${unit}, not negative, with at most six decimals`
    })
  )

const Rate = rateOf("million tokens")

const rateFields = {
  input: Rate,
  output: Rate,
  cache_read: Schema.optionalKey(Rate).annotateKey({ description: "Default: `input`." }),
  cache_write: Schema.optionalKey(Rate).annotateKey({ description: "To a cache of five minutes. Default: `input`." }),
  cache_write_1h: Schema.optionalKey(Rate).annotateKey({ description: "Default: `cache_write`." }),
  audio_input: Schema.optionalKey(Rate).annotateKey({ description: "Default: `input`." })
}

/** Tokens; the bound keeps sums far inside what a double counts exactly. */
const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

export const PriceEntry = Schema.Struct({
  ...rateFields,
  tiers: Schema.optionalKey(Schema.Array(Schema.Struct({ above_prompt_tokens: Tokens, ...rateFields }))).annotateKey({
    description:
      "Rates for the whole request once its prompt is larger than the threshold; ascending. A rate that a tier " +
      "leaves out has the same default as outside, taken from the tier's own rates."
  })
}).annotate({ description: "USD per million tokens, as a number or as text, with at most six decimals." })
export type PriceEntry = typeof PriceEntry.Type

const EndpointEntry = Schema.Struct({
  provider: Schema.String,
  upstream: Schema.optionalKey(Schema.NonEmptyString).annotateKey({
    description: "The model's name at the provider. Default: the model's id."
  }),
  protocol: Schema.optionalKey(Schema.Literals(chatProtocolNames)).annotateKey({
    description: "Default: the provider's."
  }),
  price_usd_per_mtok: PriceEntry,
  context_window: Schema.optionalKey(Tokens).annotateKey({ description: "Where it differs from the model's." }),
  max_output: Schema.optionalKey(Tokens).annotateKey({ description: "Where it differs from the model's." })
})

const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const axisFields = Object.fromEntries(axes.map((axis) => [axis, Share]))
// `fromEntries` forgets its keys; they are exactly the axes.
const ProfileEntry = Schema.Struct(axisFields as { readonly [A in Axis]: typeof Share })

const Day = Schema.String.check(
  Schema.isPattern(/^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/, { expected: "YYYY-MM or YYYY-MM-DD" })
)
const Tiers = Schema.Array(Schema.Literals(["none", "low", "high"]))
const ProfileSource = Schema.Struct({ name: Schema.NonEmptyString, date: Day, tiers: Tiers })
const ProfileEstimate = Schema.Struct({
  tiers: Tiers,
  axes: Schema.optionalKey(Schema.Array(Schema.Literals(axes))).annotateKey({ description: "Default: every axis." }),
  from: Schema.optionalKey(Schema.NonEmptyString).annotateKey({
    description: "The relative that lent it, in this catalog or not. Default: other figures of the model itself."
  })
})

const ReasoningEntry = Schema.Struct({
  support: Schema.Literals(["none", "optional", "always"]),
  efforts: Schema.optionalKey(Schema.Array(Schema.Literals(modelEfforts.filter((effort) => effort !== "none")))),
  budget_tokens: Schema.optionalKey(Schema.Struct({ min: Tokens, max: Tokens }))
})

const cardFields = {
  id: Schema.String.check(Schema.isPattern(/^\S{1,128}$/, { expected: "a name without spaces" })),
  owned_by: Schema.optionalKey(Schema.NonEmptyString).annotateKey({ description: "Default: the first provider." }),
  released: Schema.optionalKey(Day)
}

const ModelEntry = Schema.Struct({
  ...cardFields,
  context_window: Tokens.annotateKey({ description: "Prompt plus output." }),
  max_output: Tokens,
  input: Schema.optionalKey(Schema.Array(Schema.Literals(["text", "image", "audio"]))).annotateKey({
    description: "What it takes; text always. Default: text alone."
  }),
  tools: Schema.optionalKey(Schema.Boolean).annotateKey({ description: "Default: true." }),
  forced_tool_choice: Schema.optionalKey(Schema.Boolean).annotateKey({ description: "Default: the value of `tools`." }),
  structured_output: Schema.optionalKey(Schema.Boolean).annotateKey({ description: "Default: false." }),
  sampling: Schema.optionalKey(Schema.Literals(["always", "without_reasoning", "never"])).annotateKey({
    description: "When temperature, top_p and penalties may be sent. Default: always."
  }),
  reasoning: Schema.optionalKey(ReasoningEntry).annotateKey({ description: "Default: none." }),
  verbosity: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.1, maximum: 10 }))).annotateKey({
    description: "Visible output tokens it writes where an average model writes one. Default: 1."
  }),
  endpoints: Schema.NonEmptyArray(EndpointEntry).annotateKey({ description: "In order of preference." }),
  profiles: Schema.optionalKey(
    Schema.Struct({
      none: Schema.optionalKey(ProfileEntry),
      low: Schema.optionalKey(ProfileEntry),
      high: Schema.optionalKey(ProfileEntry)
    })
  ).annotateKey({ description: "Skill from 0 to 1 per reasoning tier. A served tier without one takes the nearest." }),
  profile_sources: Schema.optionalKey(Schema.Array(ProfileSource)).annotateKey({
    description: "Whose published figures the profiles are from. For the reader: no request is routed by it."
  }),
  profile_estimates: Schema.optionalKey(Schema.Array(ProfileEstimate)).annotateKey({
    description:
      "What of the profiles had no figures and was estimated by the rules in tools/capability-profiles/README.md."
  })
})
export type ModelEntry = typeof ModelEntry.Type

/** Ten minutes, far beyond any minimum there is. */
const maxMinimumSeconds = 600

/** One of the two prices, never both; checked when the catalog is put together. */
const TranscriptionEndpointEntry = Schema.Struct({
  provider: EndpointEntry.fields.provider,
  upstream: EndpointEntry.fields.upstream,
  price_usd_per_mtok: Schema.optionalKey(PriceEntry).annotateKey({ description: "Of a model priced by the token." }),
  price_usd_per_audio_hour: Schema.optionalKey(rateOf("hour of audio")).annotateKey({
    description: "Of a model priced by the time. 0 for a server of one's own."
  }),
  minimum_audio_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxMinimumSeconds }))
  ).annotateKey({ description: "Shorter audio is billed as if it were this long. With a price by the time only." }),
  context_window: EndpointEntry.fields.context_window,
  max_output: EndpointEntry.fields.max_output
})

const TranscriptionModelEntry = Schema.Struct({
  ...cardFields,
  context_window: Schema.optionalKey(Tokens).annotateKey({ description: "Default: 131072." }),
  max_output: Schema.optionalKey(Tokens).annotateKey({ description: "Default: `context_window`." }),
  endpoints: Schema.NonEmptyArray(TranscriptionEndpointEntry).annotateKey({ description: "In order of preference." }),
  price_source: Schema.optionalKey(Schema.String).annotateKey({
    description: "Where the prices come from, and how they were chosen where sources differ."
  })
}).annotate({ description: "Turns audio into text, and does nothing else. Called by OpenAI's protocol for that." })
export type TranscriptionModelEntry = typeof TranscriptionModelEntry.Type

const VariableName = Schema.String.check(
  Schema.isPattern(/^[A-Z][A-Z0-9_]*$/, { expected: "the name of an environment variable" })
)

const ProviderEntry = Schema.Struct({
  id: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9-]*$/, { expected: "lower-case letters, digits and dashes" })),
  protocol: Schema.Literals(chatProtocolNames),
  dialect: Schema.optionalKey(Schema.Literals(dialectNames)).annotateKey({ description: "Default: generic." }),
  base_url: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/, { expected: "an http or https URL" }))
  ).annotateKey({ description: "Left out where every account has its own; `base_url_env` must be set then." }),
  api_key_env: Schema.optionalKey(VariableName).annotateKey({ description: "Default: the id as `ACME_API_KEY`." }),
  base_url_env: Schema.optionalKey(VariableName).annotateKey({ description: "Default: the id as `ACME_BASE_URL`." }),
  auth: Schema.optionalKey(
    Schema.Literals(["bearer", "x-api-key", "x-goog-api-key", "api-key", "aws-sigv4", "none"])
  ).annotateKey({
    description:
      "How the key is sent. `none`: no key is needed, and one that is set goes as bearer. `aws-sigv4`: a key of " +
      "Bedrock goes as bearer, and with credentials of AWS in its place requests are signed. Default: bearer."
  })
})
export type ProviderEntry = typeof ProviderEntry.Type

/** Each list may be left out of an operator's file. */
export const CatalogFile = Schema.Struct({
  providers: Schema.optionalKey(Schema.Array(ProviderEntry)),
  models: Schema.optionalKey(Schema.Array(ModelEntry)),
  transcription_models: Schema.optionalKey(Schema.Array(TranscriptionModelEntry)).annotateKey({
    description: "An id is of a chat model or of a transcription model, never of both."
  })
})
export type CatalogFile = typeof CatalogFile.Type

const decode = Schema.decodeUnknownResult(CatalogFile, { onExcessProperty: "error", reportInput: true })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Parsed JSON as a catalog file, or its first fault. */
export const catalogFileFromJson = (json: unknown): Result.Result<CatalogFile, CatalogError> =>
  Result.mapError(decode(json), (error) => {
    const [first] = format(error.issue).issues
    return catalogFault(pathText(first?.path ?? []), first?.message ?? "is not a catalog")
  })

const pathText = (path: Iterable<PropertyKey | { readonly key: PropertyKey }>): string => {
  let text = ""
  for (const segment of path) {
    const key = typeof segment === "object" ? segment.key : segment
    text += typeof key === "number" ? `[${key}]` : `${text === "" ? "" : "."}${String(key)}`
  }
  return text
}
