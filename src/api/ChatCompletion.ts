/**
 * The answers of `POST /v1/chat/completions`, plain and in chunks. The handlers encode the same shapes by hand, because
 * encoding every chunk with a schema would cost more than everything else in a stream. These schemas make the OpenAPI
 * document, and the acceptance tests decode every answer with them.
 *
 * Members without a value are left out, except those that published clients require: `content`, `refusal`, `logprobs`
 * and a string `system_fingerprint`.
 */
import { Schema } from "effect"

const ToolCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

const ReasoningDetail = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description: "Opaque. Pass it back unmodified to keep the model's reasoning."
})

/** `error` ends a stream that broke; a plain answer never has it. */
export const ChatFinishReason = Schema.Literals(["stop", "length", "tool_calls", "content_filter", "error"])

/** The member `svc`. On a direct call `routed` is false and the others are null. */
export const RoutingMetadata = Schema.Struct({
  routed: Schema.Boolean.annotate({ description: "Whether the gateway chose the model." }),
  routed_model: Schema.NullOr(Schema.String).annotate({ description: "The model that it chose." }),
  routing_latency_ms: Schema.NullOr(Schema.Finite).annotate({ description: "How long the choice took." }),
  adjusted: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({
    description:
      "On the last chunk of a stream: the parameters that the model did not get as they were asked for, each with " +
      "what was sent. The header `x-svc-adjusted` of every answer names them too."
  }),
  dropped: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({
    description: "Where something of the request was left out for this model: its name. Of a stream on the last chunk."
  })
}).annotate({ description: "Where the request went." })
export type RoutingMetadata = typeof RoutingMetadata.Type

export const CompletionUsage = Schema.Struct({
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  total_tokens: Schema.Int,
  cost: Schema.Finite.annotate({ description: "Settled cost in USD." }),
  prompt_tokens_details: Schema.Struct({
    cached_tokens: Schema.Int.annotate({ description: "Read from the provider's cache, at a lower price." }),
    cache_write_tokens: Schema.Int.annotate({ description: "Written to the provider's cache." }),
    audio_tokens: Schema.Int
  }),
  completion_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Int })
})
export type CompletionUsage = typeof CompletionUsage.Type

const base = {
  id: Schema.String.annotate({ description: "Finds the receipt at `/v1/generations/{id}`." }),
  created: Schema.Int.annotate({ description: "Seconds since 1970." }),
  model: Schema.String.annotate({ description: "The model that answered." }),
  system_fingerprint: Schema.String.annotate({ description: "Changes with the catalog of the gateway." })
}

/** A plain answer. */
export const ChatCompletion = Schema.Struct({
  ...base,
  object: Schema.Literal("chat.completion"),
  choices: Schema.Tuple([
    Schema.Struct({
      index: Schema.Literal(0),
      message: Schema.Struct({
        role: Schema.Literal("assistant"),
        content: Schema.NullOr(Schema.String),
        refusal: Schema.NullOr(Schema.String),
        tool_calls: Schema.optionalKey(Schema.Array(ToolCall)),
        reasoning: Schema.optionalKey(Schema.String),
        reasoning_details: Schema.optionalKey(Schema.Array(ReasoningDetail))
      }),
      logprobs: Schema.Null,
      finish_reason: ChatFinishReason
    })
  ]),
  usage: CompletionUsage,
  svc: RoutingMetadata
}).annotate({ identifier: "ChatCompletion" })

/**
 * One `data:` line of a stream. Every chunk has one choice. The first and the last have `svc`; the last, which is the
 * one with a finish reason, has `usage`.
 */
export const ChatCompletionChunk = Schema.Struct({
  ...base,
  object: Schema.Literal("chat.completion.chunk"),
  choices: Schema.Tuple([
    Schema.Struct({
      index: Schema.Literal(0),
      delta: Schema.Struct({
        role: Schema.optionalKey(Schema.Literal("assistant")),
        content: Schema.optionalKey(Schema.NullOr(Schema.String)),
        refusal: Schema.optionalKey(Schema.String),
        reasoning: Schema.optionalKey(Schema.String),
        reasoning_details: Schema.optionalKey(Schema.Array(ReasoningDetail)),
        tool_calls: Schema.optionalKey(
          Schema.Array(
            Schema.Struct({
              index: Schema.Int,
              id: Schema.optionalKey(Schema.String),
              type: Schema.optionalKey(Schema.Literal("function")),
              function: Schema.Struct({ name: Schema.optionalKey(Schema.String), arguments: Schema.String })
            })
          )
        )
      }),
      logprobs: Schema.Null,
      finish_reason: Schema.NullOr(ChatFinishReason).annotate({ description: "Set on the last chunk alone." })
    })
  ]),
  usage: Schema.optionalKey(CompletionUsage),
  svc: Schema.optionalKey(RoutingMetadata),
  error: Schema.optionalKey(Schema.Struct({ code: Schema.String, message: Schema.String }))
}).annotate({ identifier: "ChatCompletionChunk" })
