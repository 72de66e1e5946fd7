/**
 * The answers of `GET /v1/models` and `GET /v1/models/{id}`: OpenAI's shape, with OpenRouter's `architecture`, by which
 * programs that list models tell chat models apart, and a member under the service's own name.
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

/**
 * A model is priced by the token or by the time of audio. In the second case it has no limits in tokens. The routed
 * model has no price of its own, and what any chat model can do, it can do.
 */
export const ModelFacts = Schema.Struct({
  kind: Schema.Literals(["chat", "transcription", "embedding"]),
  routed: Schema.optionalKey(Schema.Literal(true)).annotateKey({
    description: "The gateway chooses a model for each request, and the price is that of the model that answers."
  }),
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
  context_window: Schema.optionalKey(Schema.Int).annotateKey({
    description: "Prompt and output together, in tokens. Of an embedding model, the most tokens of one input."
  }),
  max_output_tokens: Schema.optionalKey(Schema.Int),
  dimensions: Schema.optionalKey(Schema.Int).annotateKey({
    description: "How many numbers the vectors of an embedding model have."
  }),
  min_dimensions: Schema.optionalKey(Schema.Int).annotateKey({
    description: "The fewest that `dimensions` of a request can ask for, where the length can be chosen."
  }),
  input_modalities: Schema.Array(Schema.Literals(["text", "image", "audio"])),
  tools: Schema.Boolean,
  forced_tool_choice: Schema.Boolean.annotateKey({ description: "`tool_choice` can force a call." }),
  structured_output: Schema.Boolean.annotateKey({ description: "Answers conform to a JSON schema." }),
  reasoning: Schema.Struct({
    support: Schema.Literals(["none", "optional", "always"]),
    efforts: Schema.Array(Schema.String)
  }),
  providers: Schema.Array(Schema.String).annotateKey({ description: "Who serves it, in order of preference." })
})

const Architecture = Schema.Struct({
  modality: Schema.String.annotate({ description: "Such as `text+image->text`." }),
  input_modalities: ModelFacts.fields.input_modalities,
  output_modalities: Schema.Tuple([Schema.Literals(["text", "transcription", "embeddings"])]).annotate({
    description:
      "`text`: a model for chats. `transcription`: one for `/v1/audio/transcriptions` alone. `embeddings`: one for " +
      "`/v1/embeddings` alone."
  })
})

export const ModelCard = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  created: Schema.Int,
  owned_by: Schema.String,
  architecture: Architecture,
  svc: ModelFacts
}).annotate({ identifier: "Model" })

export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ModelCard).annotate({
    description:
      "The routed model first, then the chat models by id, then those for transcription, then those for embeddings."
  })
}).annotate({ identifier: "ModelList" })
