/** `GET /v1/models`: OpenAI's list shape, with what this gateway knows of a model under the service's own name. */
import { Schema } from "effect"

/** USD per million tokens, as exact decimal text. */
const Prices = Schema.Struct({
  input: Schema.String,
  output: Schema.String,
  cache_read: Schema.String,
  cache_write: Schema.String,
  cache_write_1h: Schema.String,
  audio_input: Schema.String
}).annotate({ description: "USD per million tokens, as exact decimals." })

export const ModelFacts = Schema.Struct({
  price_usd_per_mtok: Schema.Struct({
    ...Prices.fields,
    tiers: Schema.Array(Schema.Struct({ input_tokens_above: Schema.Int, ...Prices.fields }))
  }),
  context_window: Schema.Int,
  max_output_tokens: Schema.Int,
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
