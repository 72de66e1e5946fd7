/**
 * The body and the answer of `POST /v1/embeddings`, in OpenAI's shape. The schema of the body only documents it: it is
 * read by hand, because a schema would look at each of a million tokens.
 */
import { Schema } from "effect"

import { maxEmbeddingInputs } from "../domain/Embedding.ts"
import { RoutingMetadata } from "./ChatCompletion.ts"
import { JsonRecord, omittable } from "./ChatMessages.ts"

const listOf = <S extends Schema.Constraint>(schema: S) =>
  Schema.Array(schema).check(Schema.isMinLength(1), Schema.isMaxLength(maxEmbeddingInputs))

const Token = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Tokens = Schema.Array(Token).check(Schema.isMinLength(1))

export const EmbeddingRequestBody = Schema.Struct({
  input: Schema.Union([Schema.NonEmptyString, listOf(Schema.NonEmptyString), Tokens, listOf(Tokens)]).annotate({
    description:
      `A text, or up to ${maxEmbeddingInputs} of them. Models of OpenAI also take the tokens of a text, or of ` +
      "several. None may be empty."
  }),
  model: Schema.String.annotate({ description: "An embedding model of `/v1/models`. `svc-auto` is none." }),
  dimensions: omittable(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))).annotate({
    description: "How many numbers a vector is to have, at models that can shorten their vectors."
  }),
  encoding_format: omittable(Schema.Literals(["float", "base64"])).annotate({
    description:
      "`float`, the default: vectors are lists of numbers. `base64`: each is one text, with its numbers as 32-bit " +
      "floats, lowest byte first. OpenAI's libraries ask for that by themselves and decode it."
  }),
  user: omittable(Schema.String).annotate({
    description: "Whom your own service is working for, where nothing else says so; it is not sent to the provider."
  }),
  metadata: omittable(JsonRecord).annotate({
    description:
      "Labels for the receipt: `call_name` of 1 to 64 characters, and `end_user_id`. Other keys are not stored."
  })
}).annotate({ identifier: "EmbeddingRequest" })

const EmbeddingUsage = Schema.Struct({
  prompt_tokens: Schema.Int,
  total_tokens: Schema.Int.annotate({ description: "The same, as there is no output." }),
  cost: Schema.Finite.annotate({ description: "Settled cost in USD." })
})
export type EmbeddingUsage = typeof EmbeddingUsage.Type

export const EmbeddingList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      object: Schema.Literal("embedding"),
      index: Schema.Int.annotate({ description: "Which of the inputs." }),
      embedding: Schema.Union([Schema.Array(Schema.Finite), Schema.String]).annotate({
        description: "The vector, as `encoding_format` asks for it."
      })
    })
  ).annotate({ description: "In the order of the inputs." }),
  model: Schema.String.annotate({ description: "The model that answered." }),
  usage: EmbeddingUsage,
  svc: RoutingMetadata
}).annotate({ identifier: "EmbeddingList" })
