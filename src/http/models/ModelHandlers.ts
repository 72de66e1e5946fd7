/**
 * `GET /v1/models`: the models that can be called. The routed model comes first, because programs that let their users
 * pick a model often begin with the first; models that cannot chat come last. The answers are built once at start,
 * because the catalog does not change while the gateway runs.
 */
import { Array as Arr, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api } from "../../api/Api.ts"
import { NotFound } from "../../api/Errors.ts"
import type { ModelCard, ModelFacts } from "../../api/Models.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Endpoint, Model } from "../../catalog/Model.ts"
import type { Price, Rates } from "../../catalog/Price.ts"
import { type Picodollars, times, toUsd } from "../../domain/Money.ts"
import { efforts } from "../../domain/Reasoning.ts"

export const modelHandlersLayer = (options: { readonly serviceName: string }) =>
  HttpApiBuilder.group(Api, "models", (handlers) =>
    Effect.gen(function* () {
      const { lookup, models } = yield* Catalog
      const chats = models.filter(({ kind }) => kind === "chat")
      const listed = [
        ...(Arr.isReadonlyArrayNonEmpty(chats) ? [routedCard(chats, options.serviceName)] : []),
        ...chats.map(cardOf),
        ...models.filter(({ kind }) => kind === "transcription").map(cardOf)
      ]
      const cards = new Map(listed.map(({ svc, ...base }) => [base.id, { ...base, [options.serviceName]: svc }]))
      const list = { object: "list", data: [...cards.values()] }
      return handlers
        .handleRaw("list", () => Effect.succeed(HttpServerResponse.jsonUnsafe(list)))
        .handleRaw("get", ({ params }) => {
          const named = lookup(params.id)
          const found = cards.get(named._tag === "Served" ? named.model.id : params.id)
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
export const termsOf = ({ contextWindow, maxOutputTokens, price }: Endpoint) =>
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

type Facts = typeof ModelFacts.Type

export const inputModalitiesOf = ({ kind, modalities }: Model): Facts["input_modalities"] => [
  ...(kind === "chat" ? (["text"] as const) : []),
  ...(modalities.image ? (["image"] as const) : []),
  ...(modalities.audio ? (["audio"] as const) : [])
]

/** A model with several endpoints is described by the price and the limits of the preferred one. */
const factsOf = (model: Model): Facts => ({
  kind: model.kind,
  ...termsOf(model.endpoints[0]),
  input_modalities: inputModalitiesOf(model),
  tools: model.tools,
  forced_tool_choice: model.forcedToolChoice,
  structured_output: model.structuredOutput,
  reasoning: { support: model.reasoning.support, efforts: model.reasoning.efforts },
  providers: model.endpoints.map((served) => served.provider)
})

type Card = typeof ModelCard.Type

const cardWith = (card: Pick<Card, "id" | "created" | "owned_by" | "svc">): Card => {
  const output = card.svc.kind === "chat" ? "text" : "transcription"
  const input = card.svc.input_modalities
  return {
    ...card,
    object: "model",
    architecture: {
      modality: `${input.join("+")}->${output}`,
      input_modalities: input,
      output_modalities: [output]
    }
  }
}

const cardOf = (model: Model): Card =>
  cardWith({ id: model.id, created: model.created, owned_by: model.ownedBy, svc: factsOf(model) })

/** The card of `<service>-auto`: what at least one of the chat models can do, within the limits of the largest. */
const routedCard = (chats: Arr.NonEmptyReadonlyArray<Model>, serviceName: string): Card => {
  const endpoints = chats.map((model) => model.endpoints[0])
  return cardWith({
    id: `${serviceName}-auto`,
    created: Math.max(...chats.map(({ created }) => created)),
    owned_by: serviceName,
    svc: {
      kind: "chat",
      routed: true,
      context_window: Math.max(...endpoints.map(({ contextWindow }) => contextWindow)),
      max_output_tokens: Math.max(...endpoints.map(({ maxOutputTokens }) => maxOutputTokens)),
      input_modalities: (["text", "image", "audio"] as const).filter((modality) =>
        chats.some((model) => inputModalitiesOf(model).includes(modality))
      ),
      tools: chats.some(({ tools }) => tools),
      forced_tool_choice: chats.some(({ forcedToolChoice }) => forcedToolChoice),
      structured_output: chats.some(({ structuredOutput }) => structuredOutput),
      reasoning: { support: "optional", efforts: efforts.filter((effort) => effort !== "none") },
      providers: [...new Set(chats.flatMap((model) => model.endpoints.map(({ provider }) => provider)))].sort()
    }
  })
}
