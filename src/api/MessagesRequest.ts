/**
 * The bodies of `POST /v1/messages` and `/v1/messages/count_tokens` as clients of Anthropic send them. What the gateway
 * cannot carry is refused by name, or left out and named, before a body comes here; so the schemas declare only what is
 * read.
 */
import { Schema } from "effect"

import { isBase64 } from "../domain/Base64.ts"
import { cacheable, cacheControlRule, ChatCacheControl, JsonRecord, omittable } from "./ChatMessages.ts"
import { choiceFields } from "./ChoiceFields.ts"

const about = (description: string) => ({ description })
const between = (minimum: number, maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum }))
const atLeast = (minimum: number) => Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum))

const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...cacheable })

const Base64Source = Schema.Struct({
  type: Schema.Literal("base64"),
  media_type: Schema.String.check(Schema.isPattern(/^[\w.+-]+\/[\w.+-]+$/, { expected: "a media type" })),
  data: Schema.String.check(Schema.makeFilter(isBase64, { expected: "an image in base64" }))
})

const UrlSource = Schema.Struct({
  type: Schema.Literal("url"),
  url: Schema.String.check(Schema.isPattern(/^https?:\/\//i, { expected: "an http(s) URL" }))
})

const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([Base64Source, UrlSource]).annotate({ message: "Expected a source of type base64 or url" }),
  ...cacheable
})

const TextSource = Schema.Struct({
  type: Schema.Literal("text"),
  media_type: omittable(Schema.Literal("text/plain")),
  data: Schema.String
})

const ContentSource = Schema.Struct({
  type: Schema.Literal("content"),
  content: Schema.Union([
    Schema.String,
    Schema.Array(Schema.Union([TextBlock, ImageBlock]).annotate({ message: "Expected a block of type text or image" }))
  ])
})

/** A document of text goes to the model as text; a file does not reach here. */
const DocumentBlock = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Union([TextSource, ContentSource]).annotate({ message: "Expected a source of type text or content" }),
  title: omittable(Schema.String),
  context: omittable(Schema.String),
  ...cacheable
})

const SearchResultBlock = Schema.Struct({
  type: Schema.Literal("search_result"),
  source: Schema.String,
  title: Schema.String,
  content: Schema.Array(TextBlock),
  ...cacheable
})

const resultBlocks = [TextBlock, ImageBlock, DocumentBlock, SearchResultBlock] as const

const ToolResultBlock = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.NonEmptyString.annotate(about("The `id` of the call that this is the result of.")),
  content: omittable(
    Schema.Union([
      Schema.String,
      Schema.Array(
        Schema.Union(resultBlocks).annotate({
          message: "Expected a block of type text, image, document or search_result"
        })
      )
    ])
  ),
  is_error: omittable(Schema.Boolean).annotate(about("Whether the tool failed.")),
  ...cacheable
})

const ThinkingBlock = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  signature: omittable(Schema.String)
})

const RedactedThinkingBlock = Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })

const ToolUseBlock = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  input: JsonRecord,
  ...cacheable
})

const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  content: Schema.Union([
    Schema.String,
    Schema.Array(
      Schema.Union([...resultBlocks, ToolResultBlock]).annotate({
        message: "Expected a block of type text, image, document, search_result or tool_result"
      })
    )
  ])
})

const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: Schema.Union([
    Schema.String,
    Schema.Array(
      Schema.Union([TextBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock]).annotate({
        message: "Expected a block of type text, thinking, redacted_thinking or tool_use"
      })
    )
  ])
})

const TextContent = Schema.Union([
  Schema.String,
  Schema.Array(TextBlock.annotate({ message: "Expected a block of type text" }))
])

const SystemMessage = Schema.Struct({ role: Schema.Literal("system"), content: TextContent })

export const MessageParam = Schema.Union([UserMessage, AssistantMessage, SystemMessage]).annotate({
  message: "Expected a message with role user, assistant or system"
})
export type MessageParam = typeof MessageParam.Type

const Tool = Schema.Struct({
  type: omittable(Schema.Literal("custom")),
  name: Schema.NonEmptyString,
  description: omittable(Schema.String).annotate(about("Tells the model what the tool is for.")),
  input_schema: JsonRecord.annotate(about("JSON Schema of the arguments.")),
  ...cacheable
})

const parallel = {
  disable_parallel_tool_use: omittable(Schema.Boolean).annotate(about("True allows one call in an answer at most."))
}

const toolChoice = "Expected an object of type auto, any, tool or none"

const ToolChoice = Schema.Union([
  Schema.Struct({ type: Schema.Literal("auto"), ...parallel }),
  Schema.Struct({ type: Schema.Literal("any"), ...parallel }),
  Schema.Struct({ type: Schema.Literal("tool"), name: Schema.NonEmptyString, ...parallel }),
  Schema.Struct({ type: Schema.Literal("none") })
]).annotate({ message: toolChoice })

const display = {
  display: omittable(Schema.Literals(["summarized", "omitted"])).annotate(
    about("`omitted`: the model thinks, but its thinking is not returned.")
  )
}

const thinking = "Expected an object of type enabled, adaptive or disabled"

const Thinking = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("enabled"),
    budget_tokens: atLeast(1_024).annotate(about("The most tokens to think.")),
    ...display
  }),
  Schema.Struct({ type: Schema.Literal("adaptive"), ...display }),
  Schema.Struct({ type: Schema.Literal("disabled") })
]).annotate({ message: thinking })

const format = "Expected an object of type json_schema"

const OutputFormat = Schema.Struct({ type: Schema.Literal("json_schema"), schema: JsonRecord }).annotate({
  message: format
})

const OutputConfig = Schema.Struct({
  effort: omittable(Schema.Literals(["low", "medium", "high", "xhigh", "max"])).annotate(
    about("How much the model thinks.")
  ),
  format: omittable(OutputFormat, format).annotate(about("The answer conforms to the schema, or the request fails."))
})

const prompt = {
  model: omittable(Schema.String).annotate(
    about("A model of `/v1/models`, or a name of Anthropic's. `svc-auto`, null or omitted: the gateway chooses.")
  ),
  ...choiceFields,
  messages: Schema.Array(MessageParam)
    .check(Schema.isMinLength(1))
    .annotate(about("The conversation so far, in order.")),
  system: omittable(TextContent).annotate(about("Instructions for the model.")),
  tools: omittable(Schema.Array(Tool)).annotate(about("What the model may call.")),
  tool_choice: omittable(ToolChoice, toolChoice).annotate(
    about("`auto` leaves calls to the model, `none` forbids them, `any` or a named `tool` forces one.")
  ),
  thinking: omittable(Thinking, thinking).annotate(
    about("How much the model thinks. Without it a routed request does not think, and a named model does as it does.")
  ),
  output_config: omittable(OutputConfig),
  output_format: omittable(OutputFormat, format).annotate(about("The older name of `output_config.format`.")),
  cache_control: omittable(ChatCacheControl, cacheControlRule).annotate(
    about("Caches the whole prompt at providers that do so on demand.")
  )
}

export const MessagesRequest = Schema.Struct({
  ...prompt,
  max_tokens: atLeast(1).annotate(about("The most tokens that the model may write, with those it thinks.")),
  stream: omittable(Schema.Boolean).annotate(about("Answers with server-sent events as the model writes.")),
  temperature: omittable(between(0, 1)).annotate(about("How much chance there is in the answer.")),
  top_p: omittable(between(0, 1)).annotate(
    about("Only the likeliest words whose probabilities add up to this are considered.")
  ),
  stop_sequences: omittable(Schema.Array(Schema.String).check(Schema.isMaxLength(16))).annotate(
    about("Texts before which the answer ends.")
  ),
  metadata: omittable(
    Schema.Struct({
      user_id: omittable(Schema.String).annotate(
        about("Whom your own service is working for, kept with the usage up to 512 characters.")
      )
    })
  )
}).annotate({ identifier: "MessagesRequest" })
export type MessagesRequest = typeof MessagesRequest.Type

export const MessageTokensRequest = Schema.Struct(prompt).annotate({ identifier: "MessageTokensRequest" })
export type MessageTokensRequest = typeof MessageTokensRequest.Type
