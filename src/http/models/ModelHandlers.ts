/**
 * `GET /v1/models`: the models that can be called. The answers are built once at start, because the catalog does not
 * change while the gateway runs.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api } from "../../api/Api.ts"
import { NotFound } from "../../api/Errors.ts"
import type { ModelCard, ModelFacts } from "../../api/Models.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Endpoint, Model } from "../../catalog/Model.ts"
import type { Price, Rates } from "../../catalog/Price.ts"
import { type Picodollars, times, toUsd } from "../../domain/Money.ts"

export const modelHandlersLayer = (options: { readonly serviceName: string }) =>
  HttpApiBuilder.group(Api, "models", (handlers) =>
    Effect.gen(function* () {
      const { models } = yield* Catalog
      const card = ({ svc, ...base }: typeof ModelCard.Type) => ({ ...base, [options.serviceName]: svc })
      const cards = new Map(models.map((model) => [String(model.id), card(cardOf(model))]))
      const list = { object: "list", data: [...cards.values()] }
      return handlers
        .handleRaw("list", () => Effect.succeed(HttpServerResponse.jsonUnsafe(list)))
        .handleRaw("get", ({ params }) => {
          const found = cards.get(params.id)
          return found === undefined
            ? Effect.fail(NotFound.of("There is no such model; see /v1/models"))
            : Effect.succeed(HttpServerResponse.jsonUnsafe(found))
        })
    })
  )

const perMillion = (rate: Picodollars): string => toUsd(times(rate, 1_000_000))

const pricesOf = (rates: Rates) => ({
  input: perMillion(rates.input),
  output: perMillion(rates.output),
  cache_read: perMillion(rates.cacheRead),
  cache_write: perMillion(rates.cacheWrite5m),
  cache_write_1h: perMillion(rates.cacheWrite1h),
  audio_input: perMillion(rates.audioInput)
})

const tokenPrice = ({ rates, tiers }: Price) => ({
  ...pricesOf(rates),
  tiers: tiers.map((tier) => ({ input_tokens_above: tier.abovePromptTokens, ...pricesOf(tier.rates) }))
})

/** The price and the limits of an endpoint, by the token or by the hour of audio. */
const termsOf = ({ contextWindow, maxOutputTokens, price }: Endpoint) =>
  price.rates.audioHour === undefined
    ? {
        price_usd_per_mtok: tokenPrice(price),
        context_window: contextWindow,
        max_output_tokens: maxOutputTokens
      }
    : {
        price_usd_per_audio_hour: toUsd(price.rates.audioHour),
        ...(price.minimumAudioMillis !== undefined && { minimum_audio_seconds: price.minimumAudioMillis / 1_000 })
      }

/** A model with several endpoints is described by the price and the limits of the preferred one. */
const factsOf = (model: Model): typeof ModelFacts.Type => {
  const [endpoint] = model.endpoints
  return {
    kind: model.kind,
    ...termsOf(endpoint),
    input_modalities: [
      ...(model.kind === "chat" ? (["text"] as const) : []),
      ...(model.modalities.image ? (["image"] as const) : []),
      ...(model.modalities.audio ? (["audio"] as const) : [])
    ],
    tools: model.tools,
    forced_tool_choice: model.forcedToolChoice,
    structured_output: model.structuredOutput,
    reasoning: { support: model.reasoning.support, efforts: model.reasoning.efforts },
    providers: model.endpoints.map((served) => served.provider)
  }
}

const cardOf = (model: Model): typeof ModelCard.Type => ({
  id: model.id,
  object: "model",
  created: model.created,
  owned_by: model.ownedBy,
  svc: factsOf(model)
})
