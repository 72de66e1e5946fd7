import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"

import { Catalog } from "../../src/catalog/Catalog.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import type { Effort } from "../../src/domain/Reasoning.ts"
import { estimatePromptTokens } from "../../src/domain/TokenCount.ts"
import { Router } from "../../src/routing/Router.ts"
import { quantile } from "../../tools/router-training/Metrics.ts"
import { audio, image, modelOf, requestOf } from "./TestModels.ts"

/** The shipped catalog with every provider switched on. */
const everyProvider = Catalog.layer({
  account: (provider) =>
    Effect.succeed({ provider, baseUrl: provider.baseUrl || "http://azure", apiKey: Redacted.make("key") })
})

const routingRequestOf = (request: ChatRequest) => ({
  request,
  promptTokens: estimatePromptTokens(request),
  allowed: undefined
})
const withEffort = (effort: Effort): Partial<ChatRequest> => ({ reasoning: { effort, exclude: false } })

const proof =
  "Prove that every finite abelian group is isomorphic to a direct product of cyclic groups of prime power order. " +
  "Be rigorous, state every lemma, and derive the number of such groups of order 10000."

describe("Router over the shipped catalog", () => {
  layer(Layer.provideMerge(Router.layer, everyProvider))((it) => {
    it.effect("sends an easy question to a cheap model and a hard proof to a strong one", () =>
      Effect.gen(function* () {
        const { rank } = yield* Router
        const { models } = yield* Catalog
        const [first] = rank(
          routingRequestOf(requestOf("What is the capital of Australia?", withEffort("high")))
        ).candidates
        const [strong] = rank(routingRequestOf(requestOf(proof, withEffort("high")))).candidates
        const outputPrice = quantile(
          models.map(({ endpoints }) => Number(endpoints[0].price.rates.output)),
          0.5
        )
        assert.isBelow(Number(first?.model.endpoints[0].price.rates.output), outputPrice / 2)
        const best = Math.max(...models.map(({ profiles }) => profiles.high?.math ?? 0))
        assert.isAbove(strong?.model.profiles.high?.math ?? 0, best - 0.1)
        assert.isAbove(strong?.model.profiles.high?.math ?? 0, first?.model.profiles.high?.math ?? 1)
      })
    )

    it.effect("lists every served model as a candidate, or as excluded with the reason", () =>
      Effect.gen(function* () {
        const { exclusionOf, rank } = yield* Router
        const models = (yield* Catalog).models.filter(({ kind }) => kind === "chat")
        for (const request of [
          requestOf("Hi", withEffort("none")),
          requestOf([image]),
          requestOf([audio], withEffort("high"))
        ]) {
          const ranking = rank(routingRequestOf(request))
          assert.isNotEmpty(ranking.candidates)
          assert.strictEqual(ranking.candidates.length + ranking.excluded.length, models.length)
          for (const { model, reason } of ranking.excluded) {
            const found = models.find(({ id }) => id === model)
            assert.strictEqual(found && exclusionOf(found, routingRequestOf(request)), reason)
          }
        }
      })
    )

    it.effect("reports whether a given model can serve a request", () =>
      Effect.gen(function* () {
        const { exclusionOf } = yield* Router
        const textOnly = modelOf("text-only", { modalities: { image: false, audio: false } })
        assert.strictEqual(exclusionOf(textOnly, routingRequestOf(requestOf([image]))), "image_input")
        assert.isUndefined(exclusionOf(textOnly, routingRequestOf(requestOf("Hi"))))
      })
    )
  })
})
