/**
 * The body of `POST /v1/chat/completions` as clients send it. `null` means omitted and unknown members are ignored, so
 * the parameters that the contract ignores are not declared at all.
 */
import { Schema } from "effect"

import { efforts } from "../domain/Reasoning.ts"
import { hasAtMostCharacters } from "../domain/TextLength.ts"
import { cacheable, cacheControlRule, ChatCacheControl, ChatMessage, JsonRecord, omittable } from "./ChatMessages.ts"
import { choiceFields } from "./ChoiceFields.ts"

export const between = (minimum: number, maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum }))
export const atLeast = (minimum: number) => Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum))
/** Counts code points, which is also what `maxLength` means in the published document. */
export const maxCharacters = (maxLength: number) =>
  Schema.makeFilter((text: string) => hasAtMostCharacters(text, maxLength), {
    expected: `at most ${maxLength} characters`,
    toJsonSchema: () => ({ maxLength })
  })
export const ChatTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: Schema.NonEmptyString,
    description: omittable(Schema.String).annotate({ description: "Tells the model what the function is for." }),
    parameters: JsonRecord.annotate({ description: "JSON Schema of the arguments." }),
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
      schema: JsonRecord.annotate({ description: "JSON Schema of the answer." })
    })
  })
]).annotate({ message: responseFormat })

const Effort = Schema.Literals([...efforts])

/** Keys are checked on the whole record, because a key schema would silently drop the keys that do not match it. */
export const RequestMetadata = Schema.Record(
  Schema.String,
  Schema.NullOr(Schema.String.check(maxCharacters(512)))
).check(
  Schema.isMaxProperties(16),
  Schema.isPropertyNames(Schema.String.check(maxCharacters(64)), {
    message: "Expected keys of at most 64 characters"
  })
)

const about = (description: string) => ({ description })

export const ChatCompletionRequest = Schema.Struct({
  messages: Schema.Array(ChatMessage)
    .check(Schema.isMinLength(1))
    .annotate(about("The conversation so far, in order. Each kind of message is told by its `role`.")),
  model: omittable(Schema.String).annotate(
    about("A model of `/v1/models`. `svc-auto`, null or omitted: the gateway chooses.")
  ),
  ...choiceFields,
  stream: omittable(Schema.Boolean).annotate(
    about("Answers with server-sent events as the model writes. False by default.")
  ),
  max_completion_tokens: omittable(atLeast(1)).annotate(
    about("The most tokens that the model may write, with those it thinks.")
  ),
  max_tokens: omittable(atLeast(1)).annotate(about("The older name of `max_completion_tokens`, which counts first.")),
  temperature: omittable(between(0, 2)).annotate(
    about("How much chance there is in the answer: near 0 the likeliest words, higher more variety.")
  ),
  top_p: omittable(between(0, 1)).annotate(
    about("Only the likeliest words whose probabilities add up to this are considered.")
  ),
  stop: omittable(Schema.Union([Schema.String, Schema.Array(Schema.String).check(Schema.isMaxLength(4))])).annotate(
    about("Up to four texts before which the answer ends.")
  ),
  frequency_penalty: omittable(between(-2, 2)).annotate(
    about("Above 0, words are less likely the more often they have come.")
  ),
  presence_penalty: omittable(between(-2, 2)).annotate(about("Above 0, words that have come are less likely.")),
  tools: omittable(Schema.Array(ChatTool)).annotate(
    about(
      "Functions that the model may call. It answers with `tool_calls`; results go back as messages of role `tool`."
    )
  ),
  tool_choice: omittable(ChatToolChoice, toolChoice).annotate(
    about("`auto` leaves calls to the model, `none` forbids them, `required` or a named function forces one.")
  ),
  parallel_tool_calls: omittable(Schema.Boolean).annotate(
    about("False allows one call in an answer at most. True by default.")
  ),
  response_format: omittable(ChatResponseFormat, responseFormat).annotate(
    about("`json_object` gives valid JSON, `json_schema` an answer that conforms to the schema, or the request fails.")
  ),
  reasoning: omittable(
    Schema.Struct({
      effort: omittable(Effort).annotate(about("The level of thinking.")),
      max_tokens: omittable(atLeast(0)).annotate(about("A budget in tokens. 0 switches thinking off.")),
      exclude: omittable(Schema.Boolean).annotate(about("The model thinks, but its thinking is not returned.")),
      enabled: omittable(Schema.Boolean).annotate(about("False switches thinking off."))
    })
  ).annotate(about("How much the model thinks. Routed requests that do not say so get high effort.")),
  reasoning_effort: omittable(Effort).annotate(about("The same as `reasoning.effort`, which counts first.")),
  session_id: omittable(Schema.String.check(maxCharacters(256))).annotate(
    about("Names the conversation. Routed requests of one session stay on one model, whose cache serves the prompt.")
  ),
  metadata: omittable(RequestMetadata).annotate(
    about("Labels. `call_name`, of 1 to 64 characters, names the request in its receipt; others are not stored.")
  ),
  cache_control: omittable(ChatCacheControl, cacheControlRule).annotate(
    about("Caches the whole prompt at providers that do so on demand. Parts, messages and tools can be marked as well.")
  ),
  prompt_cache_key: omittable(Schema.String).annotate(about("Groups requests with the same beginning for the cache.")),
  prompt_cache_retention: omittable(Schema.String).annotate(
    about("How long a cached prompt is kept, such as `24h`, at models that take it.")
  ),
  n: omittable(Schema.Literal(1), "Expected 1: exactly one choice is returned").annotate(
    about("How many answers to return.")
  ),
  modalities: omittable(Schema.Array(Schema.Literal("text")), "Expected an array that has only text").annotate(
    about("Answers are text.")
  )
}).annotate({ identifier: "ChatCompletionRequest" })
export type ChatCompletionRequest = typeof ChatCompletionRequest.Type
