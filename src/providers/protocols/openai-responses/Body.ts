/**
 * The body of `POST /responses`, as OpenAI's API reference (openai-node 7.55) describes it; Azure and xAI copy it. A
 * member that is `undefined` is not sent. `RequestBody` lists every member the gateway can send, in the order in which
 * it sends them, and none of them is optional: a misspelt or a forgotten member does not compile.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { EffortLevel } from "../shared/request/Thinking.ts"

/** The whole body. */
export interface RequestBody {
  readonly model: string
  /** The provider keeps nothing, so every request carries the whole conversation. */
  readonly store: false
  readonly tools: ReadonlyArray<ResponsesTool> | undefined
  /** Refused without `tools`, as is the next member. */
  readonly tool_choice: "none" | "required" | { readonly type: "function"; readonly name: string } | undefined
  readonly parallel_tool_calls: false | undefined
  readonly input: ReadonlyArray<InputItem>
  readonly text: { readonly format: TextFormat } | undefined
  /** Visible and reasoning tokens, at least 16. */
  readonly max_output_tokens: number | undefined
  /** From 0 to 2. */
  readonly temperature: number | undefined
  /** From 0 to 1. */
  readonly top_p: number | undefined
  /** Models that do not reason refuse this member and the next. */
  readonly reasoning: ReasoningParameter | undefined
  readonly include: readonly ["reasoning.encrypted_content"] | undefined
  /** At most 64 characters. */
  readonly prompt_cache_key: string | undefined
  /** `in_memory` or `24h`. Models that take breakpoints refuse it. */
  readonly prompt_cache_retention: string | undefined
  readonly stream: boolean
}

/** A function that the model may call. */
export interface ResponsesTool {
  readonly type: "function"
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema. */
  readonly parameters: JsonObject
  /** Always sent: without it some models read schemas as strict, and refuse loose ones. */
  readonly strict: boolean
}

/** `json_object` is refused unless the word JSON occurs in the input. */
export type TextFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema"
      readonly name: string
      readonly description: string | undefined
      /** JSON Schema. */
      readonly schema: JsonObject
      readonly strict: boolean
    }

/** How much the model reasons, and whether it summarises that. */
export interface ReasoningParameter {
  readonly effort: EffortLevel | "none" | undefined
  /** Left out where the client does not want to see the reasoning. */
  readonly summary: "auto" | undefined
}

export type InputItem = MessageItem | ReasoningItem | FunctionCallItem | FunctionCallOutputItem

export type MessageItem =
  | { readonly role: "system" | "developer" | "user"; readonly content: ReadonlyArray<InputContent> }
  /** `phase`: `commentary` or `final_answer`, from models that tell the two apart. */
  | {
      readonly role: "assistant"
      readonly phase: string | undefined
      readonly content: ReadonlyArray<OutputContent>
    }

export type InputContent =
  | {
      readonly type: "input_text"
      readonly text: string
      readonly prompt_cache_breakpoint: CacheBreakpoint | undefined
    }
  /** `detail`: `auto`, `low` or `high`. */
  | {
      readonly type: "input_image"
      readonly image_url: string
      readonly detail: string
      readonly prompt_cache_breakpoint: CacheBreakpoint | undefined
    }

/** From gpt-5.6 on. Without `ttl` the prefix is kept for half an hour. */
export interface CacheBreakpoint {
  readonly mode: "explicit"
  readonly ttl: "12h" | undefined
}

export type OutputContent = OutputText | OutputRefusal

export interface OutputRefusal {
  readonly type: "refusal"
  readonly refusal: string
}

export interface OutputText {
  readonly type: "output_text"
  readonly text: string
}

/** Goes back without the id it had, because the provider does not keep the item that the id names. */
export interface ReasoningItem {
  readonly type: "reasoning"
  readonly summary: ReadonlyArray<{ readonly type: "summary_text"; readonly text: string }>
  readonly encrypted_content: string
}

/** A call that the model made. */
export interface FunctionCallItem {
  readonly type: "function_call"
  /** Joins the call with its output. At most 64 characters. */
  readonly call_id: string
  readonly name: string
  /** The text of a JSON object. */
  readonly arguments: string
}

/** The result of a call. */
export interface FunctionCallOutputItem {
  readonly type: "function_call_output"
  readonly call_id: string
  readonly output: string | ReadonlyArray<InputContent>
}
