/** The headers that clients send beside the key. They are declared for the published document; handlers check them. */
import { Schema } from "effect"

/** Accepts any text: the handler checks the key, so that this check has its place in the order of all checks. */
export const IdempotencyHeaders = Schema.Struct({
  "idempotency-key": Schema.optionalKey(Schema.String).annotate({
    examples: ["0b1f6a52-3d0c-4f0e-9f5d-6f0d3f6c2f11"],
    description:
      "1 to 255 visible ASCII characters. A repeat with the same key and request within 24 hours gets the same " +
      "answer, with the header `idempotent-replayed: true`, and is not charged again."
  })
})

const endUser = {
  "x-end-user-id": Schema.optionalKey(Schema.String).annotate({
    description:
      "Whom your own service is working for: 1 to 512 characters, kept with the usage. It comes before " +
      "`metadata.end_user_id` where both are given."
  })
}

export const EmbeddingHeaders = Schema.Struct({ ...IdempotencyHeaders.fields, ...endUser })

/** The headers of Anthropic's clients. Nobody is refused for a version, because there has been one alone. */
export const MessagesHeaders = Schema.Struct({
  "anthropic-version": Schema.optionalKey(Schema.String).annotate({
    examples: ["2023-06-01"],
    description: "Anthropic's clients send it; it may be left out."
  }),
  "x-api-key": Schema.optionalKey(Schema.String).annotate({
    description: "An API key of this gateway, in place of `authorization`."
  })
})

export const ChatHeaders = Schema.Struct({
  ...IdempotencyHeaders.fields,
  "x-session-id": Schema.optionalKey(Schema.String).annotate({
    examples: ["conversation-4711"],
    description: "At most 256 characters. Stands for `session_id`, which comes before it where both are given."
  }),
  ...endUser
})
