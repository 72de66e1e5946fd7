/**
 * `GET /v1/models`: the models that can be called. The routed model comes first, because programs that let their users
 * pick a model often begin with the first; models that cannot chat come last. The answers are built once, because the
 * catalog does not change while the gateway runs, and once for each pricing of an organization.
 */
import { Array as Arr, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { NotFound } from "../../api/Errors.ts"
import type { MessagesModel } from "../../api/MessagesModels.ts"
import type { ModelCard, ModelFacts } from "../../api/Models.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Endpoint, Model } from "../../catalog/Model.ts"
import { makeOffers, type Offer } from "../../catalog/Offer.ts"
import type { Price, Rates } from "../../catalog/Price.ts"
import { type Picodollars, picodollars, toUsd } from "../../domain/Money.ts"
import { efforts } from "../../domain/Reasoning.ts"
import { messagesModelOf, messagesModelPage } from "./MessagesModelPages.ts"

export const modelHandlersLayer = (options: { readonly serviceName: string }) =>
  HttpApiBuilder.group(Api, "models", (handlers) =>
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const offerAt = makeOffers(catalog)
      const usual = cardsOf(catalog, options.serviceName)
      const own = new WeakMap<Offer, Cards>()
      const cardsFor = Effect.map(CurrentCaller, ({ pricing }) => {
        const offer = offerAt(pricing)
        if (offer === undefined) return usual
        const cards = own.get(offer) ?? cardsOf(offer, options.serviceName)
        own.set(offer, cards)
        return cards
      })
      return handlers
        .handleRaw("list", ({ request: { headers, url } }) =>
          Effect.flatMap(cardsFor, ({ cards, messagesModels }) => {
            if (headers["anthropic-version"] === undefined)
              return Effect.succeed(HttpServerResponse.jsonUnsafe({ object: "list", data: [...cards.values()] }))
            const page = messagesModelPage([...messagesModels.values()], url)
            return Effect.map(Effect.fromResult(page), (list) => HttpServerResponse.jsonUnsafe(list))
          })
        )
        .handleRaw(
          "get",
          Effect.fnUntraced(function* ({ params, request: { headers } }) {
            const named = catalog.lookup(params.id)
            const { cards, messagesModels } = yield* cardsFor
            const listed = headers["anthropic-version"] === undefined ? cards : messagesModels
            const found = listed.get(named._tag === "Served" ? named.model.id : params.id)
            if (found === undefined) return yield* NotFound.of("There is no such model; see /v1/models")
            return HttpServerResponse.jsonUnsafe(found)
          })
        )
    })
  )

/** The models by their ids, in the two shapes in which clients read them. */
interface Cards {
  readonly cards: ReadonlyMap<string, object>
  readonly messagesModels: ReadonlyMap<string, MessagesModel>
}

const cardsOf = ({ models }: Offer, serviceName: string): Cards => {
  const chats = models.filter(({ kind }) => kind === "chat")
  const listed = [
    ...(Arr.isReadonlyArrayNonEmpty(chats) ? [routedCard(chats, serviceName)] : []),
    ...chats.map(cardOf),
    ...models.filter(({ kind }) => kind === "transcription").map(cardOf),
    ...models.filter(({ kind }) => kind === "embedding").map(cardOf)
  ]
  const messagesModels = listed.flatMap((card) => messagesModelOf(card) ?? [])
  return {
    cards: new Map(listed.map(({ svc, ...base }) => [base.id, { ...base, [serviceName]: svc }])),
    messagesModels: new Map(messagesModels.map((model) => [model.id, model]))
  }
}

/** Exact, because a divisor of rates divides a million. */
const perMillion = (rate: Picodollars, { divisor = 1n }: Price): string =>
  toUsd(picodollars((rate * 1_000_000n) / divisor))

const pricesOf = (rates: Rates, price: Price) => ({
  input: perMillion(rates.input, price),
  output: perMillion(rates.output, price),
  cache_read: perMillion(rates.cacheRead, price),
  cache_write: perMillion(rates.cacheWrite5m, price),
  cache_write_1h: perMillion(rates.cacheWrite1h, price),
  audio_input: perMillion(rates.audioInput, price)
})

const tokenPrice = (price: Price) => ({
  ...pricesOf(price.rates, price),
  tiers: price.tiers.map((tier) => ({ input_tokens_above: tier.abovePromptTokens, ...pricesOf(tier.rates, price) }))
})

/** A price by the token or by the hour of audio. */
export const statedPrice = (price: Price) => {
  const { divisor = 1n, minimumAudioMillis, rates } = price
  // An hour is priced in whole millionths of a dollar, so its rate is a multiple of what a divisor can be.
  return rates.audioHour === undefined
    ? { price_usd_per_mtok: tokenPrice(price) }
    : {
        price_usd_per_audio_hour: toUsd(picodollars(rates.audioHour / divisor)),
        ...(minimumAudioMillis !== undefined && { minimum_audio_seconds: minimumAudioMillis / 1_000 })
      }
}

/** The price that is charged at an endpoint, and its limits if these are in tokens. */
export const termsOf = ({ contextWindow, maxOutputTokens, price }: Endpoint) => ({
  ...statedPrice(price),
  ...(price.rates.audioHour === undefined && {
    context_window: contextWindow,
    // An embedding model has no output in tokens.
    ...(maxOutputTokens > 0 && { max_output_tokens: maxOutputTokens })
  })
})

type Facts = typeof ModelFacts.Type

export const inputModalitiesOf = ({ kind, modalities }: Model): Facts["input_modalities"] => [
  ...(kind === "transcription" ? [] : (["text"] as const)),
  ...(modalities.image ? (["image"] as const) : []),
  ...(modalities.audio ? (["audio"] as const) : [])
]

/** A model with several endpoints is described by the price and the limits of the preferred one. */
const factsOf = (model: Model): Facts => ({
  kind: model.kind,
  ...termsOf(model.endpoints[0]),
  ...(model.dimensions && { dimensions: model.dimensions.usual }),
  ...(model.dimensions?.min !== undefined && { min_dimensions: model.dimensions.min }),
  input_modalities: inputModalitiesOf(model),
  tools: model.tools,
  forced_tool_choice: model.forcedToolChoice,
  structured_output: model.structuredOutput,
  reasoning: { support: model.reasoning.support, efforts: model.reasoning.efforts },
  providers: model.endpoints.map((served) => served.provider)
})

type Card = typeof ModelCard.Type

/** What models of each kind make, in the words of OpenRouter. */
const outputs = { chat: "text", transcription: "transcription", embedding: "embeddings" } as const

const cardWith = (card: Pick<Card, "id" | "created" | "owned_by" | "svc">): Card => {
  const output = outputs[card.svc.kind]
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
