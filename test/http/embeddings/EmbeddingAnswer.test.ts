import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

import { vectorFromBase64, vectorFromNumbers } from "../../../src/domain/Embedding.ts"
import { modelId } from "../../../src/domain/Ids.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import { none } from "../../../src/domain/Usage.ts"
import { embeddingAnswer } from "../../../src/http/embeddings/EmbeddingAnswer.ts"
import { at } from "../../support/Chat.ts"

const written = (vectors: ReadonlyArray<Float32Array>, format: "float" | "base64") =>
  Effect.map(
    embeddingAnswer(
      { model: modelId("m"), vectors, usage: { ...none, input: 3 }, cost: picodollars(60_000n) },
      { format, serviceName: "acme" }
    ),
    ({ body }): unknown => JSON.parse(body.toString())
  )

const itemsIn = (answer: unknown): ReadonlyArray<unknown> => at(answer, "data") as ReadonlyArray<unknown>

describe("an answer with embeddings", () => {
  it.effect.prop(
    "has the same numbers in both encodings",
    { numbers: Schema.NonEmptyArray(Schema.Finite) },
    ({ numbers }) =>
      Effect.gen(function* () {
        const vector = vectorFromNumbers(numbers)
        if (vector === undefined) return
        const [asText] = itemsIn(yield* written([vector], "base64"))
        const [asList] = itemsIn(yield* written([vector], "float"))
        const decoded = vectorFromBase64(String(at(asText, "embedding"))) ?? assert.fail("no vector")
        // JSON has no negative zero.
        assert.deepStrictEqual(
          at(asList, "embedding"),
          Array.from(decoded, (value) => value + 0)
        )
      })
  )

  it.effect("has an item for each vector in order, however many there are, and the rest of the members", () =>
    Effect.gen(function* () {
      for (const count of [1, 31, 32, 33, 2_048]) {
        const vectors = Array.from({ length: count }, (_, index) => Float32Array.of(index))
        const answer = yield* written(vectors, "float")
        assert.deepStrictEqual(
          itemsIn(answer),
          vectors.map((_, index) => ({ object: "embedding", index, embedding: [index] }))
        )
        const { data: _data, ...rest } = answer as { readonly data: unknown }
        assert.deepStrictEqual(rest, {
          object: "list",
          model: "m",
          usage: { prompt_tokens: 3, total_tokens: 3, cost: 0.000_000_06 },
          acme: { routed: false, routed_model: null, routing_latency_ms: null }
        } as never)
      }
    })
  )
})
