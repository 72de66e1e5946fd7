/** What this gateway adds to OpenAI's answers in `OpenAiShapes.ts`. Members that both have are not checked here. */
import * as z from "zod"

import { chunkThatEndsWith, count, errorBody } from "./OpenAiShapes.ts"

const direct = z.strictObject({ routed: z.literal(false), routed_model: z.null(), routing_latency_ms: z.null() })
const routed = z.strictObject({
  routed: z.literal(true),
  routed_model: z.string(),
  routing_latency_ms: z.number().nonnegative()
})
const svc = z.union([direct, routed])
/** The last chunk of a stream also names the parameters that were adjusted, if there are any. */
const names = z.exactOptional(z.array(z.string()).min(1))
const adjusted = { adjusted: names, dropped: names }
const lastSvc = z.union([direct.extend(adjusted), routed.extend(adjusted)])

const billedUsage = z
  .looseObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    cost: z.number().nonnegative(),
    prompt_tokens_details: z.looseObject({ cached_tokens: count, cache_write_tokens: count })
  })
  .refine((it) => it.total_tokens === it.prompt_tokens + it.completion_tokens, "total_tokens is not the sum")

/** Reasoning blocks as OpenRouter defined them, which is the format that clients know. */
const common = { id: z.string(), format: z.string(), index: z.exactOptional(z.int()) }
const reasoningDetail = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("reasoning.text"),
    text: z.string(),
    signature: z.exactOptional(z.string()),
    ...common
  }),
  z.strictObject({ type: z.literal("reasoning.summary"), summary: z.string(), ...common }),
  z.strictObject({ type: z.literal("reasoning.encrypted"), data: z.string(), ...common })
])

const reasoned = {
  reasoning: z.exactOptional(z.string().min(1)),
  reasoning_details: z.exactOptional(z.array(reasoningDetail).min(1))
}

/** A plain answer. Its content is null only beside a refusal or at least one tool call. */
export const completion = z.looseObject({
  choices: z.tuple([
    z.looseObject({
      index: z.literal(0),
      message: z.union([
        z.looseObject({ content: z.string(), tool_calls: z.undefined().optional(), ...reasoned }),
        z.looseObject({ content: z.null(), tool_calls: z.array(z.unknown()).min(1), ...reasoned }),
        z.looseObject({
          content: z.null(),
          refusal: z.string().min(1),
          tool_calls: z.undefined().optional(),
          ...reasoned
        })
      ])
    })
  ]),
  system_fingerprint: z.string(),
  usage: billedUsage,
  svc
})

const choice = z.looseObject({ index: z.literal(0), delta: z.looseObject(reasoned), logprobs: z.null() })
const unfinished = z.tuple([z.looseObject({ ...choice.shape, finish_reason: z.null() })])
const finished = z.tuple([
  z.looseObject({ ...choice.shape, delta: z.strictObject({}), finish_reason: z.string().min(1) })
])

/** The chunks of a stream by their position. The one with the finish reason is the last. */
export const chunks = {
  first: z.looseObject({ choices: unfinished, usage: z.undefined().optional(), svc }),
  middle: z.looseObject({
    choices: unfinished,
    usage: z.undefined().optional(),
    svc: z.undefined().optional()
  }),
  last: z.looseObject({ choices: finished, usage: billedUsage, svc: lastSvc, error: z.undefined().optional() }),
  broken: chunkThatEndsWith(z.literal("error")).extend({
    choices: z.tuple([z.looseObject({ ...choice.shape, finish_reason: z.literal("error") })]),
    usage: billedUsage.refine(({ cost }) => cost === 0, "a broken stream costs nothing"),
    error: errorBody.shape.error,
    svc: lastSvc
  })
}

/** A model's description beside OpenAI's members, in the member `svc`. */
export const model = z.looseObject({
  svc: z.xor([
    z.looseObject({ routed: z.literal(true), kind: z.literal("chat"), context_window: z.int() }),
    z.looseObject({ price_usd_per_mtok: z.looseObject({}), context_window: z.int(), max_output_tokens: z.int() }),
    z.looseObject({ price_usd_per_mtok: z.looseObject({}), context_window: z.int(), kind: z.literal("embedding") }),
    z.looseObject({ price_usd_per_audio_hour: z.string(), kind: z.literal("transcription") })
  ])
})
