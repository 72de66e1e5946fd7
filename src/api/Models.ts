/**
 * The answers of `GET /v1/models` and `GET /v1/models/{id}`: OpenAI's shape, with a further member under the service's
 * own name that describes the model.
 */
import { Schema } from "effect"

/** USD per million tokens, as exact decimals. */
const Prices = Schema.Struct({
  input: Schema.String,
  output: Schema.String,
  cache_read: Schema.String,
  cache_write: Schema.String,
  cache_write_1h: Schema.String,
  audio_input: Schema.String
}).annotate({ description: "USD per million tokens, as exact decimals." })

/** A model is priced by the token or by the time of audio. In the second case it has no limits in tokens. */
export const ModelFacts = Schema.Struct({
  kind: Schema.Literals(["chat", "transcription"]),
  price_usd_per_mtok: Schema.optionalKey(
    Schema.Struct({
      ...Prices.fields,
      tiers: Schema.Array(Schema.Struct({ input_tokens_above: Schema.Int, ...Prices.fields }))
    })
  ),
  price_usd_per_audio_hour: Schema.optionalKey(Schema.String).annotateKey({ description: "USD, as an exact decimal." }),
  minimum_audio_seconds: Schema.optionalKey(Schema.Finite).annotateKey({
    description: "Shorter audio is billed as if it were this long."
  }),
  context_window: Schema.optionalKey(Schema.Int),
  max_output_tokens: Schema.optionalKey(Schema.Int),
  input_modalities: Schema.Array(Schema.Literals(["text", "image", "audio"])),
  tools: Schema.Boolean,
  forced_tool_choice: Schema.Boolean,
  structured_output: Schema.Boolean,
  reasoning: Schema.Struct({
    support: Schema.Literals(["none", "optional", "always"]),
    efforts: Schema.Array(Schema.String)
  }),
  providers: Schema.Array(Schema.String)
})

export const ModelCard = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  created: Schema.Int,
  owned_by: Schema.String,
  svc: ModelFacts
}).annotate({ identifier: "Model" })

export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ModelCard)
}).annotate({ identifier: "ModelList" })
