/** Embeddings of the fake provider: what each vector holds tells which input it stands for. */
import { vectorToBase64 } from "../../../src/domain/Embedding.ts"
import { type Behaviour, type Json, reply } from "./Behaviours.ts"

export interface VectorOptions {
  /** `null` reports none. Default: one token for each input. */
  readonly usage?: Json | null
  /** Default: what the request asks for, or 4. */
  readonly dimensions?: number
  /** Default: as the request asks. */
  readonly encoding?: "base64" | "float"
  /** Changes the list of items, such as its order. */
  readonly change?: (items: ReadonlyArray<Json>) => ReadonlyArray<Json>
}

/** Numbers that begin with the index of the input; no 32-bit float holds the others exactly. */
export const vectorAt = (index: number, length: number): ReadonlyArray<number> =>
  Array.from({ length }, (_, place) => (place === 0 ? index : (place % 2 === 0 ? -1 : 1) / (place + 2)))

/** Answers a request for embeddings. */
export const vectors =
  ({ change = (items) => items, dimensions, encoding, usage }: VectorOptions = {}): Behaviour =>
  (response, received) => {
    const { dimensions: asked, encoding_format: format = "float", input, model } = received.body
    const inputs: ReadonlyArray<unknown> = Array.isArray(input) ? input : [input]
    const length = dimensions ?? (typeof asked === "number" ? asked : 4)
    const data = inputs.map((_, index) => {
      const numbers = vectorAt(index, length)
      const isBase64 = (encoding ?? format) === "base64"
      const embedding = isBase64 ? vectorToBase64(Float32Array.from(numbers)) : numbers
      return { object: "embedding", index, embedding }
    })
    const counted = { prompt_tokens: inputs.length, total_tokens: inputs.length }
    const body = { object: "list", data: change(data), model, ...(usage !== null && { usage: usage ?? counted }) }
    return reply(200, body)(response, received)
  }
