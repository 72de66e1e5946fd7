/**
 * The body of `POST /v1/chat/completions` as clients send it. `null` means omitted and unknown members are ignored, so
 * the parameters that the contract ignores are not declared at all.
 */
import { Schema } from "effect"

import { isBase64 } from "../domain/Base64.ts"
import { audioFormats } from "../domain/Conversation.ts"
import { efforts } from "../domain/Reasoning.ts"
import { hasAtMostCharacters } from "../domain/TextLength.ts"

/**
 * An optional member. SDKs send `null` for omitted, so that is allowed too. `message` is the error for a value that
 * fits no member of a union; without it the error would show the union as a TypeScript type.
 */
const omittable = <S extends Schema.Constraint>(schema: S, message?: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate(message === undefined ? {} : { message }))

const between = (minimum: number, maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum }))
const atLeast = (minimum: number) => Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum))
/** Counts code points, which is also what `maxLength` means in the published document. */
const maxCharacters = (maxLength: number) =>
  Schema.makeFilter((text: string) => hasAtMostCharacters(text, maxLength), {
    expected: `at most ${maxLength} characters`,
    toJsonSchema: () => ({ maxLength })
  })
const JsonObject = Schema.Record(Schema.String, Schema.Unknown)

const cacheControl = "Expected an object of type ephemeral"

export const ChatCacheControl = Schema.Struct({
  type: Schema.Literal("ephemeral"),
  ttl: omittable(Schema.String).annotate({ description: "A duration such as `5m`, `1h` or `1 hour`." })
})

/** Clients mark parts, messages, tool calls and tools, and all of these are read. */
const cacheable = { cache_control: omittable(ChatCacheControl, cacheControl) }

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...cacheable })

const imageUrl = /^(?:https?:\/\/|data:[\w.+-]+\/[\w.+-]+;base64,)/i

const ImagePart = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({
    url: Schema.String.check(
      Schema.isPattern(imageUrl, { expected: "an http(s) URL or a data URI of the form data:<mime>;base64,<data>" }),
      Schema.makeFilter((url) => !/^data:/i.test(url) || isBase64(url.slice(url.indexOf(",") + 1)), {
        expected: "a data URI whose data is base64"
      })
    ),
    detail: omittable(Schema.String)
  }),
  ...cacheable
})

const AudioPart = Schema.Struct({
  type: Schema.Literal("input_audio"),
  input_audio: Schema.Struct({
    data: Schema.String.check(Schema.makeFilter(isBase64, { expected: "audio in base64" })),
    format: Schema.Literals(audioFormats)
  }),
  ...cacheable
})

const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

const textOnly = "a part of type text"
const TextContent = Schema.Union([Schema.String, Schema.Array(TextPart)])
const UserContent = Schema.Union([
  Schema.String,
  Schema.Array(
    Schema.Union([TextPart, ImagePart, AudioPart]).annotate({
      message: "Expected a part of type text, image_url or input_audio"
    })
  )
])
const AssistantContent = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Union([TextPart, RefusalPart]).annotate({ message: `Expected ${textOnly}` }))
])
const ToolContent = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Union([TextPart, ImagePart]).annotate({ message: "Expected a part of type text or image_url" }))
])

const ToolCall = Schema.Struct({
  id: Schema.NonEmptyString,
  type: omittable(Schema.Literal("function")),
  function: Schema.Struct({ name: Schema.NonEmptyString, arguments: Schema.String }),
  ...cacheable
})

const instruction = { content: Schema.NullOr(TextContent), ...cacheable }

/** One schema per role, each with a single literal, so that an error names the missing key rather than the union. */
const SystemMessage = Schema.Struct({ role: Schema.Literal("system"), ...instruction })
const DeveloperMessage = Schema.Struct({ role: Schema.Literal("developer"), ...instruction })
const UserMessage = Schema.Struct({ role: Schema.Literal("user"), content: Schema.NullOr(UserContent), ...cacheable })
const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: omittable(AssistantContent),
  tool_calls: omittable(Schema.Array(ToolCall)),
  refusal: omittable(Schema.String),
  reasoning: omittable(Schema.String),
  reasoning_content: omittable(Schema.String).annotate({
    description: "Another name of `reasoning`, which counts where both are given."
  }),
  reasoning_details: omittable(Schema.Array(JsonObject)),
  ...cacheable
})
const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  content: Schema.NullOr(ToolContent),
  tool_call_id: Schema.NonEmptyString,
  ...cacheable
})

export const ChatMessage = Schema.Union([
  SystemMessage,
  DeveloperMessage,
  UserMessage,
  AssistantMessage,
  ToolMessage
]).annotate({ message: "Expected a message with role system, developer, user, assistant or tool" })
export type ChatMessage = typeof ChatMessage.Type

export const ChatTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: Schema.NonEmptyString,
    description: omittable(Schema.String),
    parameters: JsonObject.annotate({ description: "JSON Schema of the arguments." }),
    ...cacheable
  }),
  ...cacheable
})

const NamedTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.NonEmptyString })
})

const toolChoice = "Expected auto, none, required or an object that names a function"

export const ChatToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]).annotate({ message: toolChoice }),
  NamedTool
])

const responseFormat = "Expected an object of type text, json_object or json_schema"

export const ChatResponseFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: Schema.NonEmptyString,
      description: omittable(Schema.String),
      strict: omittable(Schema.Boolean),
      schema: JsonObject
    })
  })
]).annotate({ message: responseFormat })

const Effort = Schema.Literals([...efforts])

/** Keys are checked on the whole record, because a key schema would silently drop the keys that do not match it. */
const Metadata = Schema.Record(Schema.String, Schema.NullOr(Schema.String.check(maxCharacters(512)))).check(
  Schema.isMaxProperties(16),
  Schema.isPropertyNames(Schema.String.check(maxCharacters(64)), {
    message: "Expected keys of at most 64 characters"
  })
)

export const ChatCompletionRequest = Schema.Struct({
  messages: Schema.Array(ChatMessage).check(Schema.isMinLength(1)),
  model: omittable(Schema.String).annotate({
    description: "A model of `/v1/models`. `svc-auto`, null or omitted: the gateway chooses."
  }),
  n: omittable(Schema.Literal(1), "Expected 1: exactly one choice is returned"),
  modalities: omittable(Schema.Array(Schema.Literal("text")), "Expected an array that has only text"),
  stream: omittable(Schema.Boolean),
  temperature: omittable(between(0, 2)),
  max_completion_tokens: omittable(atLeast(1)),
  max_tokens: omittable(atLeast(1)),
  tools: omittable(Schema.Array(ChatTool)),
  tool_choice: omittable(ChatToolChoice, toolChoice),
  parallel_tool_calls: omittable(Schema.Boolean),
  response_format: omittable(ChatResponseFormat, responseFormat),
  reasoning: omittable(
    Schema.Struct({
      effort: omittable(Effort),
      max_tokens: omittable(atLeast(0)),
      exclude: omittable(Schema.Boolean),
      enabled: omittable(Schema.Boolean)
    })
  ),
  reasoning_effort: omittable(Effort),
  top_p: omittable(between(0, 1)),
  stop: omittable(Schema.Union([Schema.String, Schema.Array(Schema.String).check(Schema.isMaxLength(4))])),
  frequency_penalty: omittable(between(-2, 2)),
  presence_penalty: omittable(between(-2, 2)),
  metadata: omittable(Metadata),
  session_id: omittable(Schema.String.check(maxCharacters(256))),
  cache_control: omittable(ChatCacheControl, cacheControl),
  prompt_cache_key: omittable(Schema.String),
  prompt_cache_retention: omittable(Schema.String)
}).annotate({ identifier: "ChatCompletionRequest" })
export type ChatCompletionRequest = typeof ChatCompletionRequest.Type
