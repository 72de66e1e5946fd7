/**
 * The body of `POST /v1/responses` as clients send it. `null` means omitted and unknown members are ignored. What a
 * server without state cannot do is not declared, and refused by name.
 */
import { Schema } from "effect"

import { efforts } from "../domain/Reasoning.ts"
import { JsonRecord, omittable } from "./ChatMessages.ts"
import { atLeast, between, maxCharacters, RequestMetadata } from "./ChatRequest.ts"
import { choiceFields } from "./ChoiceFields.ts"
import { ResponsesInputItem } from "./ResponsesItems.ts"

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  name: Schema.NonEmptyString,
  description: omittable(Schema.String).annotate({ description: "Tells the model what the function is for." }),
  parameters: omittable(JsonRecord).annotate({ description: "JSON Schema of the arguments." }),
  strict: omittable(Schema.Boolean)
})

const CustomTool = Schema.Struct({
  type: Schema.Literal("custom"),
  name: Schema.NonEmptyString,
  description: omittable(Schema.String),
  format: omittable(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("text") }),
      Schema.Struct({ type: Schema.Literal("grammar"), syntax: Schema.String, definition: Schema.String })
    ]).annotate({ message: "Expected an object of type text or grammar" })
  ).annotate({ description: "What the model may write. A grammar becomes part of the description of the tool." })
})

const NamespaceTool = Schema.Struct({
  type: Schema.Literal("namespace"),
  name: Schema.NonEmptyString,
  description: omittable(Schema.String),
  tools: Schema.Array(
    Schema.Union([FunctionTool, CustomTool]).annotate({ message: "Expected a tool of type function or custom" })
  )
})

export const ClientToolDefinition = Schema.Union([FunctionTool, CustomTool, NamespaceTool]).annotate({
  message: "Expected a tool of type function, custom or namespace"
})
export type ClientToolDefinition = typeof ClientToolDefinition.Type

const toolChoice = "Expected auto, none, required or an object of type function, custom or allowed_tools"

const NamedChoice = { name: Schema.NonEmptyString }

const ResponsesToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]).annotate({ message: toolChoice }),
  Schema.Struct({ type: Schema.Literal("function"), ...NamedChoice }),
  Schema.Struct({ type: Schema.Literal("custom"), ...NamedChoice }),
  Schema.Struct({
    type: Schema.Literal("allowed_tools"),
    mode: Schema.Literals(["auto", "required"]),
    tools: Schema.Array(Schema.Struct({ type: Schema.Literals(["function", "custom"]), ...NamedChoice }))
  })
])

const format = "Expected an object of type text, json_object or json_schema"

const ResponsesFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    name: Schema.NonEmptyString,
    description: omittable(Schema.String),
    strict: omittable(Schema.Boolean),
    schema: JsonRecord.annotate({ description: "JSON Schema of the answer." })
  })
]).annotate({ message: format })

const Summary = Schema.Literals(["auto", "concise", "detailed"])

const about = (description: string) => ({ description })

export const ResponsesRequest = Schema.Struct({
  input: Schema.Union([Schema.String, Schema.Array(ResponsesInputItem).check(Schema.isMinLength(1))]).annotate(
    about("The prompt as text, or the conversation so far as items, in order.")
  ),
  instructions: omittable(Schema.String).annotate(about("Stands before the conversation, as a system message.")),
  model: omittable(Schema.String).annotate(
    about("A model of `/v1/models`. `svc-auto`, null or omitted: the gateway chooses.")
  ),
  ...choiceFields,
  stream: omittable(Schema.Boolean).annotate(
    about("Answers with server-sent events as the model writes. False by default.")
  ),
  max_output_tokens: omittable(atLeast(1)).annotate(
    about("The most tokens that the model may write, with those it thinks.")
  ),
  temperature: omittable(between(0, 2)).annotate(
    about("How much chance there is in the answer: near 0 the likeliest words, higher more variety.")
  ),
  top_p: omittable(between(0, 1)).annotate(
    about("Only the likeliest words whose probabilities add up to this are considered.")
  ),
  tools: omittable(Schema.Array(ClientToolDefinition)).annotate(
    about("Tools that the client runs. The model's calls are items of `output`; results go back as items of `input`.")
  ),
  tool_choice: omittable(ResponsesToolChoice, toolChoice).annotate(
    about("`auto` leaves calls to the model, `none` forbids them, `required` or a named tool forces one.")
  ),
  parallel_tool_calls: omittable(Schema.Boolean).annotate(
    about("False allows one call in an answer at most. True by default.")
  ),
  text: omittable(
    Schema.Struct({
      format: omittable(ResponsesFormat, format),
      verbosity: omittable(Schema.Literals(["low", "medium", "high"]))
    })
  ).annotate(about("The format of the answer: text, any JSON object, or JSON that conforms to a schema.")),
  reasoning: omittable(
    Schema.Struct({
      effort: omittable(Schema.Literals([...efforts])).annotate(about("The level of thinking.")),
      summary: omittable(Summary).annotate(about("A summary comes wherever the model gives one.")),
      generate_summary: omittable(Summary).annotate(about("The older name of `summary`.")),
      max_tokens: omittable(atLeast(0)).annotate(about("A budget in tokens. 0 switches thinking off.")),
      exclude: omittable(Schema.Boolean).annotate(about("The model thinks, but its thinking is not returned.")),
      enabled: omittable(Schema.Boolean).annotate(about("False switches thinking off."))
    })
  ).annotate(about("How much the model thinks. Routed requests that do not say so get high effort.")),
  include: omittable(Schema.Array(Schema.String)).annotate(
    about("Reasoning items have `encrypted_content` whether `reasoning.encrypted_content` is listed or not.")
  ),
  store: omittable(Schema.Literal(false), "Expected false: responses are not stored").annotate(
    about("Responses are not stored: every request has the whole conversation.")
  ),
  truncation: omittable(Schema.Literal("disabled"), "Expected disabled: a conversation is never cut").annotate(
    about("A conversation that is too long is refused.")
  ),
  session_id: omittable(Schema.String.check(maxCharacters(256))).annotate(
    about("Names the conversation. Routed requests of one session stay on one model, whose cache serves the prompt.")
  ),
  metadata: omittable(RequestMetadata).annotate(
    about("Labels. `call_name`, of 1 to 64 characters, names the request in its receipt; others are only returned.")
  ),
  prompt_cache_key: omittable(Schema.String).annotate(about("Groups requests with the same beginning for the cache.")),
  prompt_cache_retention: omittable(Schema.String).annotate(
    about("How long a cached prompt is kept, such as `24h`, at models that take it.")
  ),
  safety_identifier: omittable(Schema.String).annotate(about("Is returned, and goes no further.")),
  user: omittable(Schema.String).annotate(about("Is returned, and goes no further."))
}).annotate({ identifier: "ResponsesRequest" })
export type ResponsesRequest = typeof ResponsesRequest.Type
