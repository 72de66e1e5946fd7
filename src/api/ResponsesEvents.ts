/**
 * The events of a streamed answer of `POST /v1/responses`, in OpenAI's published shapes: each has the name of its
 * `type` in its `event:` line, and they are numbered from 0. The last one is `response.completed`,
 * `response.incomplete` or `response.failed`, or `error` where no model had begun to answer.
 */
import { Schema } from "effect"

import {
  MessagePart,
  AlwaysEmpty,
  ReasoningTextPart,
  ResponsesObject,
  ResponsesOutputItem,
  SummaryPart
} from "./ResponsesAnswer.ts"

const event = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), sequence_number: Schema.Int, ...fields })

const item = { item_id: Schema.String, output_index: Schema.Int }
const part = { ...item, content_index: Schema.Int }
const summary = { ...item, summary_index: Schema.Int }
const logprobs = { logprobs: AlwaysEmpty }

export const ResponsesEvent = Schema.Union([
  event("response.created", { response: ResponsesObject }),
  event("response.in_progress", { response: ResponsesObject }),
  event("response.output_item.added", { output_index: Schema.Int, item: ResponsesOutputItem }),
  event("response.output_item.done", { output_index: Schema.Int, item: ResponsesOutputItem }),
  event("response.content_part.added", { ...part, part: Schema.Union([MessagePart, ReasoningTextPart]) }),
  event("response.content_part.done", { ...part, part: Schema.Union([MessagePart, ReasoningTextPart]) }),
  event("response.output_text.delta", { ...part, ...logprobs, delta: Schema.String }),
  event("response.output_text.done", { ...part, ...logprobs, text: Schema.String }),
  event("response.refusal.delta", { ...part, delta: Schema.String }),
  event("response.refusal.done", { ...part, refusal: Schema.String }),
  event("response.reasoning_text.delta", { ...part, delta: Schema.String }),
  event("response.reasoning_text.done", { ...part, text: Schema.String }),
  event("response.reasoning_summary_part.added", { ...summary, part: SummaryPart }),
  event("response.reasoning_summary_part.done", { ...summary, part: SummaryPart }),
  event("response.reasoning_summary_text.delta", { ...summary, delta: Schema.String }),
  event("response.reasoning_summary_text.done", { ...summary, text: Schema.String }),
  event("response.function_call_arguments.delta", { ...item, delta: Schema.String }),
  event("response.function_call_arguments.done", { ...item, name: Schema.String, arguments: Schema.String }),
  event("response.custom_tool_call_input.delta", { ...item, delta: Schema.String }),
  event("response.custom_tool_call_input.done", { ...item, input: Schema.String }),
  event("response.completed", { response: ResponsesObject }),
  event("response.incomplete", { response: ResponsesObject }),
  event("response.failed", { response: ResponsesObject }),
  event("error", { code: Schema.String, message: Schema.String, param: Schema.Null })
]).annotate({ identifier: "ResponsesEvent" })
export type ResponsesEvent = typeof ResponsesEvent.Type
