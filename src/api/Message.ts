/**
 * The answers of `POST /v1/messages`, plain and in events, in Anthropic's shape. The handlers encode the same shapes by
 * hand, as those of chat completions do. These schemas make the OpenAPI document, and the acceptance tests decode every
 * answer with them.
 */
import { Schema } from "effect"

import { RoutingMetadata } from "./ChatCompletion.ts"
import { type ErrorCode, errorTable } from "./ErrorTable.ts"

/** `Object.keys` widens the keys of a record that is declared with exactly these. */
const errorCodes = Object.keys(errorTable) as ReadonlyArray<ErrorCode>

const about = (description: string) => ({ description })

const counts = {
  input_tokens: Schema.Int.annotate(about("Of the prompt, without those read from a cache or written to one.")),
  cache_creation_input_tokens: Schema.Int.annotate(about("Written to the provider's cache.")),
  cache_read_input_tokens: Schema.Int.annotate(about("Read from the provider's cache, at a lower price.")),
  cache_creation: Schema.Struct({
    ephemeral_5m_input_tokens: Schema.Int,
    ephemeral_1h_input_tokens: Schema.Int
  }),
  output_tokens: Schema.Int,
  output_tokens_details: Schema.Struct({ thinking_tokens: Schema.Int }),
  server_tool_use: Schema.Null,
  service_tier: Schema.Null
}

export const MessageUsage = Schema.Struct({
  ...counts,
  cost: Schema.Finite.annotate(about("Settled cost in USD."))
}).annotate({ identifier: "MessageUsage" })
export type MessageUsage = typeof MessageUsage.Type

const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, citations: Schema.Null })

const ThinkingBlock = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  signature: Schema.String.annotate(about("Opaque. Pass the block back unmodified to keep the model's reasoning."))
})

const RedactedThinkingBlock = Schema.Struct({
  type: Schema.Literal("redacted_thinking"),
  data: Schema.String.annotate(about("Opaque, as a `signature` is."))
})

const ToolUseBlock = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Unknown).annotate(
    about("The arguments. Text of the model that is no JSON object is in the one member `_raw`.")
  )
})

const ContentBlock = Schema.Union([TextBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock])

const StopReason = Schema.Literals(["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"])

const StopDetails = Schema.NullOr(
  Schema.Struct({ type: Schema.Literal("refusal"), category: Schema.Null, explanation: Schema.Null })
)

const stop = {
  stop_sequence: Schema.NullOr(Schema.String).annotate(about("The stop sequence before which the answer ended.")),
  stop_details: StopDetails,
  container: Schema.Null
}

const message = {
  id: Schema.String.annotate(about("Finds the receipt at `/v1/generations/{id}`.")),
  type: Schema.Literal("message"),
  role: Schema.Literal("assistant"),
  model: Schema.String.annotate(about("The model that answered.")),
  svc: RoutingMetadata
}

/** A plain answer. */
export const MessageAnswer = Schema.Struct({
  ...message,
  content: Schema.Array(ContentBlock).annotate(about("In the order in which the model made them.")),
  stop_reason: StopReason,
  ...stop,
  usage: MessageUsage
}).annotate({ identifier: "Message" })

const index = Schema.Int.annotate(about("Of the block in `content`."))

const MessageStart = Schema.Struct({
  type: Schema.Literal("message_start"),
  message: Schema.Struct({
    ...message,
    content: Schema.Tuple([]),
    stop_reason: Schema.Null,
    stop_sequence: Schema.Null,
    stop_details: Schema.Null,
    container: Schema.Null,
    usage: Schema.Struct(counts).annotate(about("An estimate of the prompt; `message_delta` has the usage."))
  })
})

const ContentBlockStart = Schema.Struct({
  type: Schema.Literal("content_block_start"),
  index,
  content_block: ContentBlock
})

const ContentBlockDelta = Schema.Struct({
  type: Schema.Literal("content_block_delta"),
  index,
  delta: Schema.Union([
    Schema.Struct({ type: Schema.Literal("text_delta"), text: Schema.String }),
    Schema.Struct({ type: Schema.Literal("thinking_delta"), thinking: Schema.String }),
    Schema.Struct({ type: Schema.Literal("signature_delta"), signature: Schema.String }),
    Schema.Struct({ type: Schema.Literal("input_json_delta"), partial_json: Schema.String })
  ])
})

const ContentBlockStop = Schema.Struct({ type: Schema.Literal("content_block_stop"), index })

const MessageDelta = Schema.Struct({
  type: Schema.Literal("message_delta"),
  delta: Schema.Struct({ stop_reason: StopReason, ...stop }),
  usage: MessageUsage,
  svc: RoutingMetadata
})

const MessageStop = Schema.Struct({ type: Schema.Literal("message_stop") })

const Ping = Schema.Struct({ type: Schema.Literal("ping") })

/** The body of an error on these routes, and the event that ends a stream which broke. */
export const MessageError = Schema.Struct({
  type: Schema.Literal("error"),
  error: Schema.Struct({
    type: Schema.String.annotate(about("Anthropic's name for errors with this status.")),
    message: Schema.String.annotate(about("For people. It may change; programs should look at the code.")),
    code: Schema.Literals(errorCodes),
    details: Schema.optionalKey(
      Schema.Struct({ error_code: Schema.String, unsupported: Schema.Array(Schema.String) })
    ).annotate(about("By which Anthropic's packages know what to do about some errors."))
  }),
  request_id: Schema.String
}).annotate({ identifier: "MessageError" })

/** One event of a stream; the event's name is its `type`. */
export const MessageStreamEvent = Schema.Union([
  MessageStart,
  ContentBlockStart,
  ContentBlockDelta,
  ContentBlockStop,
  MessageDelta,
  MessageStop,
  Ping,
  MessageError
]).annotate({ identifier: "MessageStreamEvent" })

/** The answer of `POST /v1/messages/count_tokens`. */
export const MessageTokensCount = Schema.Struct({
  input_tokens: Schema.Int.annotate(about("Estimated tokens of the system prompt, the messages and the tools."))
}).annotate({ identifier: "MessageTokensCount" })
