/**
 * The answer of `GET /v1/generations/{id}`: the receipt of one request. The charge can be recomputed from it: the sum
 * of the tokens in each bucket times their rate. Audio that is billed by time costs its milliseconds times the rate per
 * hour, divided by 3,600,000. The sum is rounded up to a whole picodollar.
 */
import { Schema } from "effect"

import { endpointOrders } from "../domain/Choices.ts"

/** An exact decimal amount of USD, such as `0.0123`. */
const Usd = Schema.String

const Names = Schema.optionalKey(Schema.Array(Schema.String))

/** With the members that were asked for, in the spelling of the request. */
const GenerationChoices = Schema.Struct({
  models: Names,
  provider: Schema.optionalKey(
    Schema.Struct({
      order: Names,
      only: Names,
      ignore: Names,
      allow_fallbacks: Schema.optionalKey(Schema.Boolean),
      sort: Schema.optionalKey(Schema.Literals(endpointOrders)),
      max_price: Schema.optionalKey(
        Schema.Struct({ prompt: Schema.optionalKey(Usd), completion: Schema.optionalKey(Usd) })
      ),
      data_collection: Schema.optionalKey(Schema.Literal("deny")),
      zdr: Schema.optionalKey(Schema.Boolean),
      require_parameters: Schema.optionalKey(Schema.Boolean)
    })
  ),
  cost_quality: Schema.optionalKey(Schema.Finite),
  max_cost_usd: Schema.optionalKey(Usd)
})

export const Generation = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("generation"),
  created: Schema.Int,
  stream: Schema.Boolean,
  outcome: Schema.String.annotate({
    description:
      "`completed`, `client_left`, `broken` when the answer broke off midway, or the error code that was sent."
  }),
  requested_model: Schema.NullOr(Schema.String).annotate({ description: "What the request named." }),
  model: Schema.NullOr(Schema.String).annotate({ description: "The model that answered." }),
  endpoint: Schema.NullOr(Schema.String).annotate({ description: "The provider's endpoint that answered." }),
  call_name: Schema.NullOr(Schema.String).annotate({ description: "Label of the request." }),
  end_user_id: Schema.NullOr(Schema.String).annotate({ description: "Label of the request." }),
  audio: Schema.NullOr(
    Schema.Struct({ ms: Schema.Int, basis: Schema.Literals(["header", "size", "broken_header"]) })
  ).annotateKey({ description: "How long the audio of a transcription plays, and how that is known." }),
  choices: Schema.NullOr(GenerationChoices).annotateKey({
    description: "What the request asked of the choice of its model and provider."
  }),
  attempts: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      endpoint: Schema.String,
      outcome: Schema.String,
      status: Schema.NullOr(Schema.Int),
      latency_ms: Schema.Finite
    })
  ).annotateKey({ description: "Every try at a provider, in order." }),
  adjusted: Schema.Array(Schema.String).annotateKey({
    description: "Parameters that the model did not get as they were asked for, each with what was sent."
  }),
  routing: Schema.NullOr(
    Schema.Struct({
      latency_ms: Schema.Finite,
      pinned: Schema.Boolean,
      tier: Schema.NullOr(Schema.String),
      prompt_tokens: Schema.NullOr(Schema.Finite),
      difficulty: Schema.Finite,
      demand: Schema.Record(Schema.String, Schema.Finite),
      candidates: Schema.Array(Schema.Struct({ model: Schema.String, distance: Schema.Finite, cost_usd: Usd })),
      excluded: Schema.Array(Schema.Struct({ model: Schema.String, because: Schema.String }))
    })
  ).annotateKey({ description: "How the model was chosen; null on a direct call." }),
  tokens: Schema.NullOr(
    Schema.Struct({
      input: Schema.Int,
      cache_read: Schema.Int,
      cache_write_5m: Schema.Int,
      cache_write_1h: Schema.Int,
      audio_input: Schema.Int,
      output: Schema.Int,
      reasoning: Schema.Int,
      estimated: Schema.Boolean
    })
  ),
  picodollars_per_token: Schema.NullOr(Schema.Record(Schema.String, Schema.String)).annotateKey({
    description:
      "The rates, by kind of token, with up to six decimals. A picodollar is a millionth of a millionth of a dollar."
  }),
  billed_audio_ms: Schema.NullOr(Schema.Int).annotateKey({ description: "Audio that is billed by time." }),
  picodollars_per_audio_hour: Schema.NullOr(Schema.String),
  catalog_version: Schema.String,
  held_usd: Usd.annotateKey({ description: "What was held before the call, in USD." }),
  cost_usd: Usd.annotateKey({ description: "What was charged, in USD." }),
  uncollected_usd: Usd.annotateKey({
    description:
      "What the charge lacks of the price of the tokens, because the balance can never go below zero, in USD."
  }),
  duration_ms: Schema.Finite,
  first_output_ms: Schema.NullOr(Schema.Finite).annotateKey({ description: "From arrival to the first output." })
}).annotate({ identifier: "Generation" })
