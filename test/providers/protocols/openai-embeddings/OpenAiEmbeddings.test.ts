import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { DialectName } from "../../../../src/catalog/Provider.ts"
import { type EmbeddingRequest, vectorToBase64 } from "../../../../src/domain/Embedding.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { openAiEmbeddings } from "../../../../src/providers/protocols/openai-embeddings/OpenAiEmbeddings.ts"

const bodyOf = (dialect: DialectName, request: EmbeddingRequest): unknown =>
  JSON.parse(JSON.stringify(openAiEmbeddings.encode({ request, upstream: "up", dialect }).body))

describe("the body", () => {
  const inputs = ["Hello", "World"]

  it("asks for base64 where the server has it, and for a length by the server's own name", () => {
    const base64 = { model: "up", input: inputs, encoding_format: "base64" }
    for (const dialect of ["openai", "azure", "openrouter", "vllm"] as const) {
      assert.deepStrictEqual(bodyOf(dialect, { inputs }), base64, dialect)
      assert.deepStrictEqual(bodyOf(dialect, { inputs, dimensions: 8 }), { ...base64, dimensions: 8 }, dialect)
    }
    for (const dialect of ["generic", "ollama", "together"] as const)
      assert.deepStrictEqual(bodyOf(dialect, { inputs, dimensions: 8 }), { model: "up", input: inputs, dimensions: 8 })
    const mistral = { model: "up", input: inputs, output_dimension: 8 }
    assert.deepStrictEqual(bodyOf("mistral", { inputs, dimensions: 8 }), mistral)
  })

  it("has tokens as they came", () => {
    assert.deepStrictEqual(bodyOf("openai", { inputs: [[1, 2], [3]] }), {
      model: "up",
      input: [[1, 2], [3]],
      encoding_format: "base64"
    })
  })
})

const vector = (...numbers: ReadonlyArray<number>) => Float32Array.from(numbers)
const item = (index: number, embedding: unknown) => ({ object: "embedding", index, embedding })
const two: EmbeddingRequest = { inputs: ["a", "b"] }
const usage = { prompt_tokens: 2, total_tokens: 2 }
const decoded = (data: unknown, request = two, more: object = { usage }) =>
  openAiEmbeddings.decode({ object: "list", data, ...more }, request)

describe("the answer", () => {
  it("may have numbers or base64, and its items in any order", () => {
    const expected = { vectors: [vector(1, 2), vector(3, 0.1)], usage: { ...none, input: 2 } }
    const [first, second] = [item(0, [1, 2]), item(1, vectorToBase64(vector(3, 0.1)))]
    for (const data of [
      [first, second],
      [second, first],
      [{ embedding: [1, 2] }, { embedding: [3, 0.1] }]
    ])
      assert.deepStrictEqual(decoded(data), Result.succeed(expected))
    // Where every item has the same index, the order is that of the inputs.
    assert.deepStrictEqual(decoded([item(0, [1, 2]), item(0, [3, 0.1])]), Result.succeed(expected))
  })

  it("has usage as prompt_tokens or total_tokens, or none", () => {
    const usageOf = (more: object) => Result.getOrThrow(decoded([item(0, [1])], { inputs: ["a"] }, more)).usage
    assert.deepStrictEqual(usageOf({ usage: { total_tokens: 4 } }), { ...none, input: 4 })
    assert.deepStrictEqual(usageOf({ usage: { prompt_tokens: 3, total_tokens: 4 } }), { ...none, input: 3 })
    for (const more of [{}, { usage: null }, { usage: { prompt_tokens: "many" } }]) assert.isUndefined(usageOf(more))
  })

  it("is broken without one vector of the right length for each input", () => {
    const broken: ReadonlyArray<unknown> = [
      undefined,
      [],
      [item(0, [1])],
      [item(0, [1]), item(1, [2]), item(2, [3])],
      [item(0, [1]), item(1, [2, 3])],
      [item(0, [1]), item(1, [])],
      [item(0, [1]), item(1, "AAAA")],
      [item(0, [1]), item(1, null)],
      [item(0, [1]), item(1, [null])]
    ]
    for (const data of broken) {
      const failure = Result.getOrThrow(Result.flip(decoded(data)))
      assert.deepInclude(failure.reason, { _tag: "Transient", kind: "broken" }, JSON.stringify(data))
    }
    const short = Result.flip(decoded([item(0, [1, 2, 3])], { inputs: ["a"], dimensions: 2 }))
    assert.strictEqual(
      Result.getOrThrow(short).message,
      "The provider's answer has an embedding of 3 numbers instead of 2."
    )
    assert.isTrue(Result.isFailure(openAiEmbeddings.decode([], two)))
  })

  it("with an error inside a success is that error", () => {
    const failure = Result.flip(openAiEmbeddings.decode({ error: { message: "The engine is overloaded" } }, two))
    assert.deepInclude(Result.getOrThrow(failure).reason, { _tag: "Transient", kind: "overloaded" })
  })
})

describe("an error", () => {
  const tagOf = (status: number, message: string) =>
    openAiEmbeddings.failure({ status, headers: {}, body: JSON.stringify({ error: { message } }) }).reason._tag

  it("says what may help", () => {
    const tooLong = "This model's maximum context length is 8192 tokens, however you requested 9001 tokens."
    assert.strictEqual(tagOf(400, tooLong), "ContextTooLong")
    assert.strictEqual(tagOf(400, "This model does not support specifying dimensions."), "Unsupported")
    assert.strictEqual(tagOf(400, "'$.input' is invalid."), "Invalid")
    assert.strictEqual(tagOf(401, "Incorrect API key provided"), "Credentials")
    assert.strictEqual(tagOf(503, "Try again"), "Transient")
  })
})
