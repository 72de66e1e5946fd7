/**
 * The models as they are offered to a caller, with the prices that it is charged. An organization with a pricing of its
 * own has an offer of its own, which is made when a gateway first meets that pricing, and not for each request.
 */
import { Option, Schema } from "effect"

import { PricingEntry } from "../domain/PriceEntry.ts"
import { chargedTo } from "./ChargeRules.ts"
import type { Model } from "./Model.ts"

export type ModelLookup =
  | { readonly _tag: "Served"; readonly model: Model }
  /** In the catalog, but none of its providers is switched on. Setting one of `variables` would switch one on. */
  | { readonly _tag: "Unserved"; readonly variables: ReadonlyArray<string> }
  | { readonly _tag: "Unknown" }

export interface Offer {
  /** The models with at least one endpoint whose provider is switched on, by id. They have only those endpoints. */
  readonly models: ReadonlyArray<Model>
  /** By id, or by a name under which other services offer a model. */
  readonly lookup: (name: string) => ModelLookup
}

/** An offer that differs from that of the catalog. */
export interface OwnOffer extends Offer {
  /** Those of `models` that hold conversations. */
  readonly chatModels: ReadonlyArray<Model>
}

/** Of more pricings than these, the one that was met first is made again when it is next asked for. */
const maxOffers = 100

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(PricingEntry))

/** Yields a function from the pricing of an organization, as JSON, to its own offer; `undefined` if it has none. */
export const makeOffers = (base: Offer): ((pricing: string | undefined) => OwnOffer | undefined) => {
  const offers = new Map<string, OwnOffer | undefined>()
  return (pricing) => {
    if (pricing === undefined) return undefined
    if (offers.has(pricing)) return offers.get(pricing)
    const [oldest] = offers.keys()
    if (offers.size >= maxOffers && oldest !== undefined) offers.delete(oldest)
    const offer = Option.getOrUndefined(Option.map(decode(pricing), (entry) => ownOffer(base, entry)))
    offers.set(pricing, offer)
    return offer
  }
}

const ownOffer = ({ lookup, models: all }: Offer, pricing: PricingEntry): OwnOffer => {
  const models = all.map((model) => chargedTo(model, pricing))
  const byId = new Map<string, Model>(models.map((model) => [model.id, model]))
  return {
    models,
    chatModels: models.filter(({ kind }) => kind === "chat"),
    lookup: (name) => {
      const found = lookup(name)
      return found._tag === "Served" ? { _tag: "Served", model: byId.get(found.model.id) ?? found.model } : found
    }
  }
}
