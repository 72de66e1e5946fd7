/**
 * The items of `input` of a request to `POST /v1/responses`, as clients send them. `null` means omitted and unknown
 * members are ignored. Items, parts and tools that only a server with state or tools of its own could serve are not
 * declared: they are refused by name before the schema sees them.
 */
import { Schema } from "effect"

import { InputAudioPart, ImageUrl, omittable } from "./ChatMessages.ts"

const PromptCacheBreakpoint = Schema.Struct({ mode: Schema.Literal("explicit"), ttl: omittable(Schema.String) })

const breakable = {
  prompt_cache_breakpoint: omittable(PromptCacheBreakpoint).annotate({
    description: "The prompt is cached up to and including this part, at providers that cache on demand."
  })
}

const InputText = Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String, ...breakable })

const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: ImageUrl,
  detail: omittable(Schema.String).annotate({ description: "`low`, `high` or `auto`." }),
  ...breakable
})

const OutputText = Schema.Struct({ type: Schema.Literal("output_text"), text: Schema.String })
const Refusal = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

const UserParts = Schema.Union([
  Schema.String,
  Schema.Array(
    Schema.Union([InputText, InputImage, InputAudioPart]).annotate({
      message: "Expected a part of type input_text, input_image or input_audio"
    })
  )
])
/** The content of a message or of the output of a call; each of them takes some of these parts. */
export type ResponsesContent = typeof UserParts.Type
const TextParts = Schema.Union([
  Schema.String,
  Schema.Array(InputText.annotate({ message: "Expected a part of type input_text" }))
])
const AssistantParts = Schema.Union([
  Schema.String,
  Schema.Array(
    Schema.Union([OutputText, Refusal, InputText]).annotate({
      message: "Expected a part of type output_text or refusal"
    })
  )
])
const OutputParts = Schema.Union([
  Schema.String,
  Schema.Array(
    Schema.Union([InputText, InputImage]).annotate({ message: "Expected a part of type input_text or input_image" })
  )
])

const message = { type: omittable(Schema.Literal("message")) }

const SystemItem = Schema.Struct({ ...message, role: Schema.Literal("system"), content: TextParts })
const DeveloperItem = Schema.Struct({ ...message, role: Schema.Literal("developer"), content: TextParts })
const UserItem = Schema.Struct({ ...message, role: Schema.Literal("user"), content: UserParts })
const AssistantItem = Schema.Struct({ ...message, role: Schema.Literal("assistant"), content: AssistantParts })

const callId = Schema.NonEmptyString.annotate({ description: "Joins a call with its output." })
const calledTool = {
  call_id: callId,
  name: Schema.NonEmptyString,
  namespace: omittable(Schema.NonEmptyString).annotate({ description: "The namespace that the tool belongs to." })
}

const FunctionCallItem = Schema.Struct({
  type: Schema.Literal("function_call"),
  ...calledTool,
  arguments: Schema.String.annotate({ description: "JSON, as the model wrote it." })
})
const CustomToolCallItem = Schema.Struct({
  type: Schema.Literal("custom_tool_call"),
  ...calledTool,
  input: Schema.String.annotate({ description: "Text, as the model wrote it." })
})
const FunctionCallOutputItem = Schema.Struct({
  type: Schema.Literal("function_call_output"),
  call_id: callId,
  output: OutputParts
})
const CustomToolCallOutputItem = Schema.Struct({
  type: Schema.Literal("custom_tool_call_output"),
  call_id: callId,
  output: OutputParts
})

const ReasoningItem = Schema.Struct({
  type: Schema.Literal("reasoning"),
  summary: omittable(Schema.Array(Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String }))),
  content: omittable(Schema.Array(Schema.Struct({ type: Schema.Literal("reasoning_text"), text: Schema.String }))),
  encrypted_content: omittable(Schema.String).annotate({
    description: "As the model's answer had it, so that the model can go on from its own thinking."
  })
})

export const ResponsesInputItem = Schema.Union([
  UserItem,
  AssistantItem,
  SystemItem,
  DeveloperItem,
  FunctionCallItem,
  FunctionCallOutputItem,
  CustomToolCallItem,
  CustomToolCallOutputItem,
  ReasoningItem
]).annotate({ message: "Expected a message, a call of a tool, the output of one, or reasoning" })
export type ResponsesInputItem = typeof ResponsesInputItem.Type
