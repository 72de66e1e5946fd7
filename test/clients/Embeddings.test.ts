/** Clients of OpenAI's embeddings: they ask for base64 or numbers, for texts or tokens, as each sees fit. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert } from "@effect/vitest"
import { OpenAIEmbeddings } from "@langchain/openai"
import { embedMany } from "ai"
import { Effect } from "effect"
import { APIError } from "openai"

import { at, refusal } from "../support/Chat.ts"
import { embed, embeddingModel, vectorsIn } from "../support/EmbeddingRequests.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { onBothEngines, onEmbedded } from "./EmbeddedGateway.ts"

const texts = ["Where is the bridge?", "How much is the toll?"]

onBothEngines.sandbox("The openai package", (it) => {
  it.effect("gets the same numbers by default, in float and in base64", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const plain = vectorsIn(yield* embed({ input: texts, encoding_format: "float" }))
      const byDefault = yield* Effect.promise(() => openai.embeddings.create({ model: embeddingModel, input: texts }))
      assert.deepStrictEqual(
        byDefault.data.map(({ embedding, index, object }) => [object, index, embedding]),
        plain.map((vector, index) => ["embedding", index, vector])
      )
      assert.deepStrictEqual([byDefault.object, byDefault.model], ["list", embeddingModel])
      assert.deepStrictEqual(byDefault.usage.prompt_tokens, byDefault.usage.total_tokens)
      assert.isAbove(Number(at(byDefault, "usage", "cost")), 0)
      const float = yield* Effect.promise(() =>
        openai.embeddings.create({ model: embeddingModel, input: texts, encoding_format: "float" })
      )
      assert.deepStrictEqual(
        float.data.map(({ embedding }) => embedding),
        plain as never
      )
      const base64 = yield* Effect.promise(() =>
        openai.embeddings.create({ model: embeddingModel, input: "Hi", encoding_format: "base64", dimensions: 2 })
      )
      // Whoever asks for base64 by name gets it as it is.
      assert.lengthOf(String(base64.data[0]?.embedding), 12)
    })
  )

  it.effect("has errors as its own", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const error = yield* refusal(() => openai.embeddings.create({ model: "gpt-5-mini", input: "Hi" }))
      assert.instanceOf(error, APIError)
      assert.deepStrictEqual([error.status, error.code], [400, "invalid_model"])
      assert.match(error.message, /does not make embeddings/)
    })
  )
})

onEmbedded.fakeProvider("The openai package", (it) => {
  it.effect("gets what it asks for from a provider that knows only numbers", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const provider = yield* FakeProvider
      for (const encoding of ["float", "base64"] as const) {
        provider.script(Fake.vectors({ encoding }))
        const answer = yield* Effect.promise(() => openai.embeddings.create({ model: embeddingModel, input: texts }))
        const expected = texts.map((_, index) => Array.from(Float32Array.from(Fake.vectorAt(index, 4))))
        assert.deepStrictEqual(
          answer.data.map(({ embedding }) => embedding),
          expected
        )
      }
    })
  )
})

onEmbedded.sandbox("Other clients", (it) => {
  it.effect("embed with LangChain", () =>
    Effect.gen(function* () {
      const { key, url } = yield* TestGateway
      const embeddings = new OpenAIEmbeddings({
        model: embeddingModel,
        dimensions: 16,
        apiKey: key,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` }
      })
      const vectors = yield* Effect.promise(() => embeddings.embedDocuments(texts))
      const expected = vectorsIn(yield* embed({ input: texts, dimensions: 16 }))
      assert.deepStrictEqual(vectors, expected as never)
      assert.deepStrictEqual(yield* Effect.promise(() => embeddings.embedQuery(texts[0] ?? "")), expected[0] as never)
    })
  )

  it.effect("embed with the AI SDK", () =>
    Effect.gen(function* () {
      const { key, url } = yield* TestGateway
      const provider = createOpenAICompatible({ name: "tollgate", apiKey: key, baseURL: `${url}/v1` })
      const { embeddings, usage } = yield* Effect.promise(() =>
        embedMany({ model: provider.embeddingModel(embeddingModel), values: texts, maxRetries: 0 })
      )
      assert.deepStrictEqual(embeddings, vectorsIn(yield* embed({ input: texts })) as never)
      assert.strictEqual(usage.tokens, 11)
    })
  )
})
