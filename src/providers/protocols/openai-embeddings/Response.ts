/**
 * The vectors in a provider's answer: in base64 or as numbers, whichever it sent. A vector that is missing, or of
 * another length than was asked for, would spoil an index without anybody noticing, so such an answer is broken.
 */
import { Result } from "effect"

import {
  type EmbeddingRequest,
  type Embeddings,
  vectorFromBase64,
  vectorFromNumbers
} from "../../../domain/Embedding.ts"
import { broken, type Failure } from "../../../domain/Failure.ts"
import { asNumber, asObject, asObjects, type Fields } from "../shared/Field.ts"
import { failureInBody } from "./Errors.ts"
import { usageIn } from "./Usage.ts"

export const decode = (body: unknown, request: EmbeddingRequest): Result.Result<Embeddings, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return fault("is not a JSON object")
  const failure = failureInBody(fields)
  if (failure !== undefined) return Result.fail(failure)
  const items = inOrder(asObjects(fields["data"]))
  const { dimensions, inputs } = request
  if (items.length !== inputs.length) return fault(`has ${items.length} embeddings for ${inputs.length} inputs`)
  const vectors: Array<Float32Array> = []
  for (const { embedding } of items) {
    const vector = vectorOf(embedding)
    if (vector === undefined) return fault("has an embedding that is not a vector")
    const expected = dimensions ?? vectors[0]?.length ?? vector.length
    if (vector.length !== expected) return fault(`has an embedding of ${vector.length} numbers instead of ${expected}`)
    vectors.push(vector)
  }
  return Result.succeed({ vectors, usage: usageIn(fields) })
}

const fault = (what: string): Result.Result<never, Failure> => Result.fail(broken(`The provider's answer ${what}.`))

/** By `index`, where every item has one of its own; otherwise as they came. */
const inOrder = (items: ReadonlyArray<Fields>): ReadonlyArray<Fields> => {
  const placed = new Map(items.map((item) => [asNumber(item["index"]), item]))
  const ordered = items.map((_, index) => placed.get(index)).filter((item) => item !== undefined)
  return ordered.length === items.length ? ordered : items
}

const vectorOf = (embedding: unknown): Float32Array | undefined => {
  if (typeof embedding === "string") return vectorFromBase64(embedding)
  return Array.isArray(embedding) ? vectorFromNumbers(embedding) : undefined
}
