/**
 * Embeddings in the gateway's own form: texts, or texts that are tokens already, and one vector for each. A vector has
 * 32-bit numbers, in whatever encoding it came and whatever encoding the client asks for, so that both are the same.
 */
import type { Usage } from "./Usage.ts"

/** A text, or the tokens that stand for one in the model's own vocabulary. Never empty. */
export type EmbeddingInput = string | ReadonlyArray<number>

/** The most inputs of one request. */
export const maxEmbeddingInputs = 2_048

export interface EmbeddingRequest {
  /** All of them texts, or all of them tokens. Never empty. */
  readonly inputs: ReadonlyArray<string> | ReadonlyArray<ReadonlyArray<number>>
  /** How many numbers a vector is to have. Absent, it has as many as the model makes. */
  readonly dimensions?: number
}

/** What a model made of the inputs. */
export interface Embeddings {
  /** In the order of the inputs, all of the same length. */
  readonly vectors: ReadonlyArray<Float32Array>
  /** `undefined` when the provider reported none. */
  readonly usage: Usage | undefined
}

/** Whether the inputs are tokens. */
export const hasTokens = ({ inputs }: EmbeddingRequest): boolean => typeof inputs[0] !== "string"

const bytesPerNumber = 4
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

/** The numbers of a vector one after the other, each as four bytes with the lowest first, in base64. */
export const vectorToBase64 = (vector: Float32Array): string => {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
  return (isLittleEndian ? bytes : Buffer.from(bytes).swap32()).toString("base64")
}

/** The vector that such a text stands for; `undefined` if it is none, or if a number in it is not finite. */
export const vectorFromBase64 = (text: string): Float32Array | undefined => {
  const bytes = Buffer.from(text, "base64")
  // Node skips what is not base64, so the text must be as long as its bytes make it.
  const isWhole = text.replace(/={1,2}$/, "").length === Math.ceil((bytes.length * 4) / 3)
  if (!isWhole || bytes.length % bytesPerNumber !== 0) return undefined
  // A copy of its own begins where its numbers are aligned.
  const own = new Uint8Array(bytes)
  if (!isLittleEndian) Buffer.from(own.buffer).swap32()
  return finite(new Float32Array(own.buffer))
}

/** The vector with these numbers; `undefined` if there are none, or if one of them is not a finite 32-bit number. */
export const vectorFromNumbers = (numbers: ReadonlyArray<unknown>): Float32Array | undefined => {
  const vector = new Float32Array(numbers.length)
  for (let index = 0; index < numbers.length; index++) {
    const value = numbers[index]
    if (typeof value !== "number") return undefined
    vector[index] = value
  }
  return finite(vector)
}

const finite = (vector: Float32Array): Float32Array | undefined =>
  vector.length > 0 && vector.every((value) => Number.isFinite(value)) ? vector : undefined
