/**
 * The shapes of OpenAI's answers, written by hand; `OurShapes.ts` has what this gateway adds. Each shape `satisfies`
 * the type that the `openai` package generates from OpenAI's OpenAPI document, so a shape that demands less does not
 * compile. Members that this gateway never sends are left out: `ContractCheck.ts` rejects an answer that has one.
 *
 * There are two intended differences from OpenAI: - Errors have `code` and `message` but not `type` and `param`: the
 * contract of this gateway says so, and no client is known that needs them. - A stream that breaks ends with
 * `finish_reason: "error"` and a top-level `error`. OpenAI has no equivalent.
 */
import type OpenAI from "openai"
import type { ErrorObject } from "openai/resources/shared"
import * as z from "zod"

const finishReason = z.enum(["stop", "length", "tool_calls", "content_filter"])
export const count = z.int().nonnegative()

const usage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.exactOptional(
    z.object({ cached_tokens: z.exactOptional(count), audio_tokens: z.exactOptional(count) })
  ),
  completion_tokens_details: z.exactOptional(z.object({ reasoning_tokens: z.exactOptional(count) }))
}) satisfies z.ZodType<OpenAI.CompletionUsage>

const base = {
  id: z.string().min(1),
  created: z.int().positive(),
  model: z.string().min(1),
  system_fingerprint: z.exactOptional(z.string())
}

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.object({ name: z.string().min(1), arguments: z.string() })
}) satisfies z.ZodType<OpenAI.ChatCompletionMessageFunctionToolCall>

const message = z.object({
  role: z.literal("assistant"),
  content: z.string().nullable(),
  refusal: z.string().nullable(),
  tool_calls: z.exactOptional(z.array(toolCall))
}) satisfies z.ZodType<OpenAI.ChatCompletionMessage>

export const completion = z.object({
  ...base,
  object: z.literal("chat.completion"),
  choices: z.array(z.object({ index: z.int(), message, logprobs: z.null(), finish_reason: finishReason })),
  usage: z.exactOptional(usage)
}) satisfies z.ZodType<OpenAI.ChatCompletion>

const delta = z.object({
  role: z.exactOptional(z.enum(["developer", "system", "user", "assistant", "tool"])),
  content: z.exactOptional(z.string().nullable()),
  refusal: z.exactOptional(z.string().nullable()),
  tool_calls: z.exactOptional(
    z.array(
      z.object({
        index: z.int(),
        id: z.exactOptional(z.string()),
        type: z.exactOptional(z.literal("function")),
        function: z.exactOptional(
          z.object({ name: z.exactOptional(z.string()), arguments: z.exactOptional(z.string()) })
        )
      })
    )
  )
}) satisfies z.ZodType<OpenAI.ChatCompletionChunk.Choice.Delta>

/** A chunk with one of these finish reasons. */
export const chunkThatEndsWith = <Reason extends z.ZodType>(reason: Reason) =>
  z.object({
    ...base,
    object: z.literal("chat.completion.chunk"),
    choices: z.array(z.object({ index: z.int(), delta, finish_reason: reason, logprobs: z.exactOptional(z.null()) })),
    usage: z.exactOptional(usage.nullable())
  })

export const chunk = chunkThatEndsWith(finishReason.nullable()) satisfies z.ZodType<OpenAI.ChatCompletionChunk>

const transcriptionUsage = z.object({
  type: z.literal("tokens"),
  input_tokens: count,
  // Optional by OpenAI's types, but published clients read it unseen.
  input_token_details: z.object({ audio_tokens: count, text_tokens: count }),
  output_tokens: count,
  total_tokens: count
})

export const transcriptionEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("transcript.text.delta"), delta: z.string() }),
  z.object({ type: z.literal("transcript.text.done"), text: z.string(), usage: transcriptionUsage })
]) satisfies z.ZodType<OpenAI.Audio.TranscriptionStreamEvent>

export const transcription = z.object({
  text: z.string(),
  usage: transcriptionUsage
}) satisfies z.ZodType<OpenAI.Audio.Transcription>

/** The `openai` package decodes base64 by itself and leaves numbers as they are, whatever its types call them. */
export const embeddingList = z.object({
  object: z.literal("list"),
  data: z.array(z.object({ object: z.literal("embedding"), index: count, embedding: z.array(z.number()).min(1) })),
  model: z.string().min(1),
  usage: z.object({ prompt_tokens: count, total_tokens: count })
}) satisfies z.ZodType<OpenAI.CreateEmbeddingResponse>

export const model = z.object({
  id: z.string().min(1),
  object: z.literal("model"),
  // 0 stands for a model whose release date is unknown.
  created: z.int().nonnegative(),
  owned_by: z.string().min(1)
}) satisfies z.ZodType<OpenAI.Model>

export const modelList = z.object({ object: z.literal("list"), data: z.array(model) })

export const errorBody = z.object({
  error: z.object({ code: z.string().min(1), message: z.string().min(1) }) satisfies z.ZodType<
    Pick<ErrorObject, "code" | "message">
  >
})
