/**
 * The sandbox as an embedding server. A vector depends on its input, its model and the number of its dimensions alone,
 * and has length 1, as those of real models have.
 */
import { Hash } from "effect"

import { vectorToBase64 } from "../../../domain/Embedding.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { SimulatedProtocol } from "../../SimulatedProtocol.ts"
import type { SimulatedReply } from "../../SimulatedReply.ts"
import { countTokens, type SimulatedRequest } from "../../SimulatedRequest.ts"
import * as OpenAiChat from "../openai-chat/Response.ts"
import { readRequest } from "./Request.ts"

const mask = 0xffff_ffff

/** Numbers from -1 to 1 that look random and follow from the seed. */
const numbersFrom = (seed: string, length: number): Float32Array => {
  let state = Hash.string(seed) >>> 0
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (2 * state) / mask - 1
  })
}

const vectorOf = (model: string, input: string, length: number): Float32Array => {
  const numbers = numbersFrom(`${model}:${input}`, length)
  const norm = Math.hypot(...numbers) || 1
  return numbers.map((value) => value / norm)
}

const body = ({ embedding, model }: SimulatedRequest, reply: SimulatedReply): JsonObject => {
  const { dimensions, inputs, isBase64 } = embedding ?? { dimensions: 0, inputs: [], isBase64: false }
  // The fault `empty` leaves a reply without any text.
  const answered: ReadonlyArray<string | ReadonlyArray<number>> = reply.text.length > 0 ? inputs : []
  const tokens = inputs.reduce<number>(
    (sum, input) => sum + (typeof input === "string" ? countTokens(input) : input.length),
    0
  )
  return {
    object: "list",
    data: answered.map((input, index) => {
      const vector = vectorOf(model, typeof input === "string" ? input : input.join(" "), dimensions)
      return { object: "embedding", index, embedding: isBase64 ? vectorToBase64(vector) : Array.from(vector) }
    }),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens }
  }
}

export const simulatedProtocol: SimulatedProtocol = {
  ...OpenAiChat.simulatedProtocol,
  path: "/openai/v1/embeddings",
  readRequest,
  body
}
