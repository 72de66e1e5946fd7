/**
 * The JSON form of the catalog. The shipped `catalog.json` and the operator's `CATALOG_FILE` have the same schema.
 *
 * Unknown fields are refused everywhere, because a misspelled `cache_reed` that was ignored would bill wrong amounts
 * for months. `PriceEntry` describes how prices are written. An endpoint without a price is refused; a free one has the
 * price 0.
 *
 *     { "providers": [{ "id": "acme", "protocol": "openai-chat", "base_url": "https://api.acme.dev/v1" }],
 *       "models": [{ "id": "acme-1", "context_window": 131072, "max_output": 16384,
 *                    "endpoints": [{ "provider": "acme", "price_usd_per_mtok": { "input": 0.15, "output": "0.6" } }]
 *                  }],
 *       "transcription_models": [{ "id": "acme-transcribe",
 *                    "endpoints": [{ "provider": "acme", "price_usd_per_audio_hour": 0.36 }] }] }
 */
import { Data, Result, Schema, SchemaIssue } from "effect"

import {
  ChargeEntry,
  ChargeFactor,
  HourlyRate,
  MinimumAudioSeconds,
  PriceEntry,
  TokenNumber
} from "../domain/PriceEntry.ts"
import { EmbeddingModelEntry } from "./EmbeddingModelFile.ts"
import { axes, chatProtocolNames, endpointFeatures, modelEfforts, perAxis } from "./Model.ts"
import { CalendarDate, commonEndpointFields, commonModelFields, PriceSource } from "./ModelFields.ts"
import { dialectNames } from "./Provider.ts"

/** A catalog that cannot be used. `message` begins with `path`, for example `models[3].endpoints[0].upstream`. */
export class CatalogError extends Data.TaggedError("CatalogError")<{
  readonly path: string
  readonly message: string
}> {}

/** The result of reading or checking catalog files. */
export type CatalogResult<A> = Result.Result<A, CatalogError>

export const catalogFault = (path: string, rule: string): CatalogError =>
  new CatalogError({ path, message: path === "" ? rule : `${path}: ${rule}` })

const EndpointEntry = Schema.Struct({
  ...commonEndpointFields,
  protocol: Schema.optionalKey(Schema.Literals(chatProtocolNames)).annotateKey({
    description: "Default: the provider's."
  }),
  price_usd_per_mtok: PriceEntry,
  max_output: Schema.optionalKey(TokenNumber).annotateKey({ description: "Where it differs from the model's." }),
  structured_output: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "It enforces a JSON Schema. Default: the model's."
  }),
  json_mode: Schema.optionalKey(Schema.Boolean).annotateKey({
    description:
      "It has a mode of its own for answers in JSON. Default: true, and false where the protocol has no such mode."
  }),
  exclusive: Schema.optionalKey(
    Schema.Array(Schema.Array(Schema.Literals(endpointFeatures)).check(Schema.isMinLength(2)))
  ).annotateKey({
    description: 'Features that it refuses in one request, such as [["json_schema", "tools"]]. Default: none.'
  })
})

const Level = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const ProfileEntry = Schema.Struct(perAxis(() => Level))

const Tiers = Schema.Array(Schema.Literals(["none", "low", "high"]))
const ProfileSource = Schema.Struct({ name: Schema.NonEmptyString, date: CalendarDate, tiers: Tiers })
const ProfileEstimate = Schema.Struct({
  tiers: Tiers,
  axes: Schema.optionalKey(Schema.Array(Schema.Literals(axes))).annotateKey({ description: "Default: every axis." }),
  from: Schema.optionalKey(Schema.NonEmptyString).annotateKey({
    description:
      "The similar model it was taken from, in this catalog or not. Default: other figures of the model itself."
  })
})

const ReasoningEntry = Schema.Struct({
  support: Schema.Literals(["none", "optional", "always"]),
  efforts: Schema.optionalKey(Schema.Array(Schema.Literals(modelEfforts.filter((effort) => effort !== "none")))),
  budget_tokens: Schema.optionalKey(Schema.Struct({ min: TokenNumber, max: TokenNumber }))
})

const ModelEntry = Schema.Struct({
  ...commonModelFields,
  context_window: TokenNumber.annotateKey({ description: "Prompt plus output, in tokens." }),
  max_output: TokenNumber,
  input: Schema.optionalKey(Schema.Array(Schema.Literals(["text", "image", "audio"]))).annotateKey({
    description: "The modalities it accepts. Text is always accepted. Default: text alone."
  }),
  tools: Schema.optionalKey(Schema.Boolean).annotateKey({ description: "Default: true." }),
  forced_tool_choice: Schema.optionalKey(Schema.Boolean).annotateKey({ description: "Default: the value of `tools`." }),
  structured_output: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "Its endpoints enforce a JSON Schema. Default: false."
  }),
  sampling: Schema.optionalKey(Schema.Literals(["always", "without_reasoning", "never"])).annotateKey({
    description: "When temperature, top_p and penalties may be sent. Default: always."
  }),
  reasoning: Schema.optionalKey(ReasoningEntry).annotateKey({ description: "Default: none." }),
  verbosity: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.1, maximum: 10 }))).annotateKey({
    description: "Visible output tokens relative to an average model. Default: 1."
  }),
  endpoints: Schema.NonEmptyArray(EndpointEntry).annotateKey({ description: "In order of preference." }),
  profiles: Schema.optionalKey(
    Schema.Struct({
      none: Schema.optionalKey(ProfileEntry),
      low: Schema.optionalKey(ProfileEntry),
      high: Schema.optionalKey(ProfileEntry)
    })
  ).annotateKey({
    description: "Skill from 0 to 1 per reasoning tier. A served tier without a profile uses the nearest."
  }),
  profile_sources: Schema.optionalKey(Schema.Array(ProfileSource)).annotateKey({
    description:
      "The publishers of the figures behind the profiles. For documentation only: it does not affect routing."
  }),
  profile_estimates: Schema.optionalKey(Schema.Array(ProfileEstimate)).annotateKey({
    description: "The levels without published figures, estimated by the rules in tools/capability-profiles/README.md."
  })
})
export type ModelEntry = typeof ModelEntry.Type

/** Has exactly one of the two prices, which is checked when the catalog files are merged. */
const TranscriptionEndpointEntry = Schema.Struct({
  ...commonEndpointFields,
  price_usd_per_mtok: Schema.optionalKey(PriceEntry).annotateKey({ description: "For a model priced by the token." }),
  price_usd_per_audio_hour: Schema.optionalKey(HourlyRate).annotateKey({
    description: "For a model priced by the hour. 0 for a server that you run yourself."
  }),
  minimum_audio_seconds: Schema.optionalKey(MinimumAudioSeconds).annotateKey({
    description: "Shorter audio is billed as if it were this long. Only with a price by the hour."
  }),
  max_output: EndpointEntry.fields.max_output
})

const TranscriptionModelEntry = Schema.Struct({
  ...commonModelFields,
  context_window: Schema.optionalKey(TokenNumber).annotateKey({ description: "Default: 131072." }),
  max_output: Schema.optionalKey(TokenNumber).annotateKey({ description: "Default: `context_window`." }),
  endpoints: Schema.NonEmptyArray(TranscriptionEndpointEntry).annotateKey({ description: "In order of preference." }),
  price_source: PriceSource
}).annotate({
  description: "Turns audio into text and does nothing else. Called through OpenAI's transcription protocol."
})
export type TranscriptionModelEntry = typeof TranscriptionModelEntry.Type

const VariableName = Schema.String.check(
  Schema.isPattern(/^[A-Z][A-Z0-9_]*$/, { expected: "the name of an environment variable" })
)

const DataPolicyEntry = Schema.Struct({
  may_train: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "Whether it may train on what it is sent. Left out where that is not known."
  }),
  retention_days: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 36_500 }))).annotateKey({
    description: "The most days for which it keeps what it is sent; 0 for nothing. Left out where that is not known."
  }),
  source: Schema.optionalKey(Schema.String).annotateKey({ description: "Where it says so. For documentation only." })
}).annotate({
  description: "What becomes of prompts and answers, for requests that ask. What is not known counts as the worst."
})
export type DataPolicyEntry = typeof DataPolicyEntry.Type

const ProviderEntry = Schema.Struct({
  id: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9-]*$/, { expected: "lower-case letters, digits and dashes" })),
  protocol: Schema.Literals(chatProtocolNames),
  dialect: Schema.optionalKey(Schema.Literals(dialectNames)).annotateKey({ description: "Default: generic." }),
  base_url: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/, { expected: "an http or https URL" }))
  ).annotateKey({
    description: "Left out if every account has its own; then the variable `base_url_env` must be set."
  }),
  api_key_env: Schema.optionalKey(VariableName).annotateKey({ description: "Default: the id as `ACME_API_KEY`." }),
  base_url_env: Schema.optionalKey(VariableName).annotateKey({ description: "Default: the id as `ACME_BASE_URL`." }),
  auth: Schema.optionalKey(
    Schema.Literals(["bearer", "x-api-key", "x-goog-api-key", "api-key", "aws-sigv4", "none"])
  ).annotateKey({
    description:
      "How the key is sent. `none`: no key is needed, and a key that is set is sent as a bearer token. `aws-sigv4`: " +
      "a Bedrock API key is sent as a bearer token; with AWS credentials instead, requests are signed. Default: bearer."
  }),
  data_policy: Schema.optionalKey(DataPolicyEntry)
})
export type ProviderEntry = typeof ProviderEntry.Type

const ChargesEntry = Schema.Struct({
  factor: Schema.optionalKey(ChargeFactor),
  providers: Schema.optionalKey(Schema.Record(Schema.String, Schema.Struct({ factor: ChargeFactor }))),
  models: Schema.optionalKey(Schema.Record(Schema.String, ChargeEntry))
}).annotate({
  description:
    "What is charged, where that is not what the providers bill: for all models, by provider or by model, of which " +
    "the last that applies is used."
})
export type ChargesEntry = typeof ChargesEntry.Type

/** An operator's file may leave out any of the members. */
export const CatalogFile = Schema.Struct({
  aliases: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)).annotateKey({
    description:
      "Further names of models, each with the id of its model. A name that is an id keeps meaning that model."
  }),
  charge: Schema.optionalKey(ChargesEntry),
  providers: Schema.optionalKey(Schema.Array(ProviderEntry)),
  models: Schema.optionalKey(Schema.Array(ModelEntry)),
  transcription_models: Schema.optionalKey(Schema.Array(TranscriptionModelEntry)).annotateKey({
    description: "An id belongs to a model of one kind, never to two."
  }),
  embedding_models: Schema.optionalKey(Schema.Array(EmbeddingModelEntry))
})
export type CatalogFile = typeof CatalogFile.Type

const decode = Schema.decodeUnknownResult(CatalogFile, { onExcessProperty: "error", reportInput: true })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Decodes parsed JSON as a catalog file. Fails with the first fault. */
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
