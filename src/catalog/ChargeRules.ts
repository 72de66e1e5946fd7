/**
 * From the price of a provider to the price that is charged. The rule: an amount is computed from exact ratios and
 * rounded once, when the usage of a request is known, so a charge is what the provider bills times the factor, rounded
 * up to a whole picodollar.
 *
 * Of several rules the most specific one counts: that of an organization for the model, of the organization, of the
 * catalog for the model, for the provider, for all.
 */
import { Result } from "effect"

import { type ChargeEntry, type ChargeRule, decimalFactor, type PricingEntry } from "../domain/PriceEntry.ts"
import { type CatalogResult, catalogFault, type ChargesEntry } from "./CatalogFile.ts"
import { isAbsurd } from "./EndpointsFromFile.ts"
import type { Endpoint, Model } from "./Model.ts"
import type { Price, Rates } from "./Price.ts"
import { priceOf } from "./PriceFromFile.ts"

const million = 1_000_000n

/** What the provider bills. */
export const providerPriceOf = ({ charge, price }: Endpoint): Price => charge?.providerPrice ?? price

/** The price that is charged under a rule. Fails where it is not of the same unit as that of the provider. */
export const chargedPrice = (providerPrice: Price, entry: ChargeEntry, path = ""): CatalogResult<Price> => {
  const { factor, ...own } = entry
  if (factor !== undefined) return Result.succeed(multiplied(providerPrice, factor))
  return Result.flatMap(priceOf(own, path), (price) => {
    const isByTime = providerPrice.rates.audioHour !== undefined
    if ((price.rates.audioHour !== undefined) === isByTime) return Result.succeed(price)
    const unit = isByTime ? "price_usd_per_audio_hour" : "price_usd_per_mtok"
    return Result.fail(catalogFault(path, `must have ${unit}, as a provider of the model has`))
  })
}

/** All rates times the factor, with the smallest divisor for which they are whole. */
const multiplied = (price: Price, factor: string): Price => {
  const [, whole = "0", fraction = ""] = decimalFactor.exec(factor) ?? []
  const millionths = BigInt(whole + fraction.padEnd(6, "0"))
  const all = [price.rates, ...price.tiers.map(({ rates }) => rates)].flatMap((rates) =>
    Object.values<bigint>({ ...rates })
  )
  const common = all.reduce((divisor, rate) => greatestDivisor(divisor, rate * millionths), million)
  const scaled = (rates: Rates): Rates =>
    // The type of `fromEntries` loses the keys, which are those of `rates`.
    Object.fromEntries(
      Object.entries<bigint>({ ...rates }).map(([bucket, rate]) => [bucket, (rate * millionths) / common])
    ) as unknown as Rates
  return {
    ...price,
    rates: scaled(price.rates),
    tiers: price.tiers.map((tier) => ({ ...tier, rates: scaled(tier.rates) })),
    ...(common !== million && { divisor: million / common })
  }
}

const greatestDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestDivisor(b, a % b))

/** The endpoint with the price that is charged under this rule. */
const endpointUnder = (endpoint: Endpoint, rule: ChargeRule, path: string): CatalogResult<Endpoint> => {
  const providerPrice = providerPriceOf(endpoint)
  return Result.flatMap(chargedPrice(providerPrice, rule.charge, path), (price) =>
    isAbsurd(price, endpoint)
      ? Result.fail(catalogFault(path, `prices one request to ${endpoint.id} at more than 100,000 USD`))
      : Result.succeed({ ...endpoint, price, charge: { providerPrice, rule } })
  )
}

interface PlacedRule {
  readonly rule: ChargeRule
  readonly path: string
}

const placed = (
  scope: ChargeRule["scope"],
  charge: ChargeEntry | undefined,
  path: string
): ReadonlyArray<PlacedRule> => (charge === undefined ? [] : [{ rule: { scope, charge }, path }])

const factorOnly = (factor: string | undefined): ChargeEntry | undefined => (factor === undefined ? factor : { factor })

/** The first of these rules at every endpoint of the model. */
const modelUnder = (model: Model, rulesOf: (endpoint: Endpoint) => ReadonlyArray<PlacedRule>): CatalogResult<Model> => {
  const [first, ...others] = model.endpoints
  const charged = (endpoint: Endpoint): CatalogResult<Endpoint> => {
    const [one] = rulesOf(endpoint)
    return one === undefined ? Result.succeed(endpoint) : endpointUnder(endpoint, one.rule, one.path)
  }
  return Result.gen(function* () {
    return { ...model, endpoints: [yield* charged(first), ...(yield* Result.all(others.map(charged)))] as const }
  })
}

/** The first entry of a rule that is not there to be charged. */
const strangerIn = (
  named: object | undefined,
  known: ReadonlyMap<string, unknown>,
  path: string,
  what: string
): CatalogResult<void> => {
  const stranger = Object.keys(named ?? {}).find((id) => !known.has(id))
  return stranger === undefined
    ? Result.succeed(undefined)
    : Result.fail(catalogFault(`${path}.${stranger}`, `is not a ${what} of this catalog`))
}

type Models = ReadonlyMap<string, Model>

/** The models with what the catalog files charge for them. */
export const chargedByCatalog = (
  models: Models,
  providers: ReadonlyMap<string, unknown>,
  charge: ChargesEntry
): CatalogResult<Models> =>
  Result.gen(function* () {
    yield* strangerIn(charge.providers, providers, "charge.providers", "provider")
    yield* strangerIn(charge.models, models, "charge.models", "model")
    const charged = new Map<string, Model>()
    for (const [id, model] of models) {
      const rulesOf = ({ provider }: Endpoint) => [
        ...placed("model", charge.models?.[id], `charge.models.${id}`),
        ...placed("provider", charge.providers?.[provider], `charge.providers.${provider}`),
        ...placed("catalog", factorOnly(charge.factor), "charge.factor")
      ]
      charged.set(id, yield* modelUnder(model, rulesOf))
    }
    return charged
  })

const organizationRules = (model: Model, { factor, models }: PricingEntry): ReadonlyArray<PlacedRule> => [
  ...placed("organization_model", models?.[model.id], `pricing.models.${model.id}`),
  ...placed("organization", factorOnly(factor), "pricing.factor")
]

/** What is wrong with the pricing of an organization; `undefined` if nothing is. */
export const pricingFault = (models: Models, pricing: PricingEntry): string | undefined => {
  const checked = Result.gen(function* () {
    yield* strangerIn(pricing.models, models, "pricing.models", "model")
    for (const model of models.values()) yield* modelUnder(model, () => organizationRules(model, pricing))
  })
  return Result.isFailure(checked) ? checked.failure.message : undefined
}

/**
 * A model as an organization is charged for it. A rule that no longer fits, because the catalog has changed since, is
 * passed over.
 */
export const chargedTo = (model: Model, pricing: PricingEntry): Model =>
  organizationRules(model, pricing)
    .map((one) => modelUnder(model, () => [one]))
    .find(Result.isSuccess)?.success ?? model
