/**
 * The response object of `POST /v1/responses`, as OpenAI publishes it, with `cost` in its usage and the routing
 * metadata. The handlers write the same shape by hand; these schemas make the OpenAPI document, and the acceptance
 * tests decode every answer with them.
 */
import { Schema } from "effect"

import { RoutingMetadata } from "./ChatCompletion.ts"
import { JsonRecord } from "./ChatMessages.ts"

const ItemStatus = Schema.Literals(["in_progress", "completed", "incomplete"])

/** A list that published clients require and that is always empty. */
export const AlwaysEmpty = Schema.Array(Schema.Never).check(Schema.isMaxLength(0))

export const OutputTextPart = Schema.Struct({
  type: Schema.Literal("output_text"),
  text: Schema.String,
  annotations: AlwaysEmpty,
  logprobs: AlwaysEmpty
})
export const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
export const SummaryPart = Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })
export const ReasoningTextPart = Schema.Struct({ type: Schema.Literal("reasoning_text"), text: Schema.String })

export const MessagePart = Schema.Union([OutputTextPart, RefusalPart])
export type MessagePart = typeof MessagePart.Type

const MessageOutput = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("message"),
  status: ItemStatus,
  role: Schema.Literal("assistant"),
  content: Schema.Array(MessagePart)
})

const ReasoningOutput = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("reasoning"),
  summary: Schema.Array(SummaryPart),
  content: Schema.optionalKey(Schema.Array(ReasoningTextPart)).annotate({
    description: "The thinking itself, of models that show it."
  }),
  encrypted_content: Schema.NullOr(Schema.String).annotate({
    description: "Opaque. Pass the item back unmodified to keep the model's reasoning."
  })
})

const called = {
  id: Schema.String,
  status: ItemStatus,
  call_id: Schema.String.annotate({ description: "The output of the call names it." }),
  name: Schema.String,
  namespace: Schema.optionalKey(Schema.String)
}

const FunctionCallOutput = Schema.Struct({
  ...called,
  type: Schema.Literal("function_call"),
  arguments: Schema.String
})

const CustomToolCallOutput = Schema.Struct({
  ...called,
  type: Schema.Literal("custom_tool_call"),
  input: Schema.String
})

export const ResponsesOutputItem = Schema.Union([
  MessageOutput,
  ReasoningOutput,
  FunctionCallOutput,
  CustomToolCallOutput
])
export type ResponsesOutputItem = typeof ResponsesOutputItem.Type

const ResponsesUsage = Schema.Struct({
  input_tokens: Schema.Int,
  input_tokens_details: Schema.Struct({
    cached_tokens: Schema.Int.annotate({ description: "Read from the provider's cache, at a lower price." }),
    cache_write_tokens: Schema.Int.annotate({ description: "Written to the provider's cache." })
  }),
  output_tokens: Schema.Int,
  output_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Int }),
  total_tokens: Schema.Int,
  cost: Schema.Finite.annotate({ description: "Settled cost in USD." })
})
export type ResponsesUsage = typeof ResponsesUsage.Type

export const ResponsesObject = Schema.Struct({
  id: Schema.String.annotate({ description: "Finds the receipt at `/v1/generations/{id}`." }),
  object: Schema.Literal("response"),
  created_at: Schema.Int.annotate({ description: "Seconds since 1970." }),
  model: Schema.String.annotate({ description: "The model that answered." }),
  status: Schema.Literals(["in_progress", "completed", "incomplete", "failed"]),
  error: Schema.NullOr(
    Schema.Struct({
      code: Schema.Literals(["server_error", "rate_limit_exceeded", "invalid_prompt"]),
      message: Schema.String,
      type: Schema.String.annotate({ description: "The code of this error in the table of errors." })
    })
  ),
  incomplete_details: Schema.NullOr(
    Schema.Struct({ reason: Schema.Literals(["max_output_tokens", "content_filter"]) })
  ),
  output: Schema.Array(ResponsesOutputItem),
  usage: Schema.NullOr(ResponsesUsage),
  background: Schema.Literal(false),
  instructions: Schema.NullOr(Schema.String),
  max_output_tokens: Schema.NullOr(Schema.Int),
  metadata: Schema.Record(Schema.String, Schema.NullOr(Schema.String)),
  parallel_tool_calls: Schema.Boolean,
  previous_response_id: Schema.Null,
  prompt_cache_key: Schema.NullOr(Schema.String),
  prompt_cache_retention: Schema.NullOr(Schema.String),
  reasoning: JsonRecord.annotate({ description: "As it was asked for." }),
  safety_identifier: Schema.NullOr(Schema.String),
  service_tier: Schema.Literal("default"),
  store: Schema.Literal(false),
  temperature: Schema.NullOr(Schema.Finite),
  text: JsonRecord.annotate({ description: "As it was asked for." }),
  tool_choice: Schema.Unknown.annotate({ description: "As it was asked for." }),
  tools: Schema.Array(JsonRecord).annotate({ description: "As they were sent." }),
  top_logprobs: Schema.Literal(0),
  top_p: Schema.NullOr(Schema.Finite),
  truncation: Schema.Literal("disabled"),
  user: Schema.NullOr(Schema.String),
  svc: RoutingMetadata
}).annotate({ identifier: "ResponsesObject" })
export type ResponsesObject = typeof ResponsesObject.Type
