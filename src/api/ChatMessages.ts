/** The messages of a chat request as clients send them, with all places where a client may put `cache_control`. */
import { Schema } from "effect"

import { isBase64 } from "../domain/Base64.ts"
import { audioFormats } from "../domain/Conversation.ts"

/**
 * An optional member. SDKs send `null` for omitted, so that is allowed too. `message` is the error for a value that
 * fits no member of a union; without it the error would show the union as a TypeScript type.
 */
export const omittable = <S extends Schema.Constraint>(schema: S, message?: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate(message === undefined ? {} : { message }))

export const JsonRecord = Schema.Record(Schema.String, Schema.Unknown)

export const cacheControlRule = "Expected an object of type ephemeral"

export const ChatCacheControl = Schema.Struct({
  type: Schema.Literal("ephemeral"),
  ttl: omittable(Schema.String).annotate({ description: "A duration such as `5m`, `1h` or `1 hour`." })
})

/** Clients mark parts, messages, tool calls and tools, and all of these are read. */
export const cacheable = {
  cache_control: omittable(ChatCacheControl, cacheControlRule).annotate({
    description: "The prompt is cached up to and including this, at providers that cache on demand."
  })
}

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...cacheable })

const imageUrl = /^(?:https?:\/\/|data:[\w.+-]+\/[\w.+-]+;base64,)/i

export const ImageUrl = Schema.String.check(
  Schema.isPattern(imageUrl, { expected: "an http(s) URL or a data URI of the form data:<mime>;base64,<data>" }),
  Schema.makeFilter((url) => !/^data:/i.test(url) || isBase64(url.slice(url.indexOf(",") + 1)), {
    expected: "a data URI whose data is base64"
  })
).annotate({ description: "An http(s) address, or a data URI in base64." })

const ImagePart = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({
    url: ImageUrl,
    detail: omittable(Schema.String).annotate({ description: "`low`, `high` or `auto`." })
  }),
  ...cacheable
})

export const InputAudioPart = Schema.Struct({
  type: Schema.Literal("input_audio"),
  input_audio: Schema.Struct({
    data: Schema.String.check(Schema.makeFilter(isBase64, { expected: "audio in base64" })).annotate({
      description: "The audio, in base64."
    }),
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
    Schema.Union([TextPart, ImagePart, InputAudioPart]).annotate({
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
  function: Schema.Struct({
    name: Schema.NonEmptyString,
    arguments: Schema.String.annotate({ description: "JSON, as the model wrote it." })
  }),
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
  tool_calls: omittable(Schema.Array(ToolCall)).annotate({
    description: "The calls that the model made; each needs a message of role `tool` with its result."
  }),
  refusal: omittable(Schema.String).annotate({ description: "What the model said in place of an answer." }),
  reasoning: omittable(Schema.String).annotate({ description: "What the model thought." }),
  reasoning_content: omittable(Schema.String).annotate({
    description: "Another name of `reasoning`, which counts where both are given."
  }),
  reasoning_details: omittable(Schema.Array(JsonRecord)).annotate({
    description: "As the model's answer had it, unmodified, so that the model can go on from its own thinking."
  }),
  ...cacheable
})
const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  content: Schema.NullOr(ToolContent),
  tool_call_id: Schema.NonEmptyString.annotate({ description: "The `id` of the call that this is the result of." }),
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
