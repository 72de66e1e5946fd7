/**
 * Converts the endpoint entries of a model in a catalog file. Checks what the schema cannot express: the provider
 * exists, it is named once, and no endpoint has more output than context or an absurd price.
 */
import { Result } from "effect"

import { endpointId } from "../domain/Ids.ts"
import { type CatalogResult, catalogFault, type ModelEntry } from "./CatalogFile.ts"
import type { Endpoint, Model, ProtocolName } from "./Model.ts"
import type { Price, Rates } from "./Price.ts"
import { type PricedEntry, priceOf } from "./PriceFromFile.ts"
import type { Provider } from "./Provider.ts"

export type ProvidersById = ReadonlyMap<string, Provider>

/** The fields about endpoints that the entries of chat models and of transcription models share. */
export interface EndpointList {
  readonly id: string
  /** When left out, each endpoint has its own protocol, or else that of its provider. */
  readonly protocol?: ProtocolName
  readonly context_window: number
  readonly max_output: number
  readonly structured_output?: boolean
  readonly endpoints: readonly [EndpointEntry, ...Array<EndpointEntry>]
}

type EndpointEntry = Omit<ModelEntry["endpoints"][number], keyof PricedEntry> & PricedEntry

/** The protocols that can ask for JSON by a parameter, without a schema. */
const protocolsWithJsonMode: ReadonlySet<ProtocolName> = new Set(["openai-chat", "openai-responses", "gemini"])

/** The endpoints of a model entry, in order of preference. A provider may serve a model only once. */
export const endpointsOf = (
  model: EndpointList,
  path: string,
  providers: ProvidersById
): CatalogResult<Model["endpoints"]> =>
  Result.gen(function* () {
    const [first, ...others] = model.endpoints
    const head = yield* endpointOf(model, first, `${path}.endpoints[0]`, providers)
    const rest: Array<Endpoint> = []
    for (const [index, other] of others.entries()) {
      rest.push(yield* endpointOf(model, other, `${path}.endpoints[${index + 1}]`, providers))
    }
    const endpoints: Model["endpoints"] = [head, ...rest]
    const duplicate = endpoints.findIndex(
      ({ id }, index) => endpoints.findIndex((endpoint) => endpoint.id === id) < index
    )
    return duplicate === -1
      ? endpoints
      : yield* Result.fail(catalogFault(`${path}.endpoints[${duplicate}].provider`, "serves this model already"))
  })

const endpointOf = (
  model: EndpointList,
  entry: EndpointEntry,
  path: string,
  providers: ProvidersById
): CatalogResult<Endpoint> =>
  Result.gen(function* () {
    const provider = providers.get(entry.provider)
    if (provider === undefined) {
      return yield* Result.fail(
        catalogFault(`${path}.provider`, `"${entry.provider}" is not a provider of this catalog`)
      )
    }
    const contextWindow = entry.context_window ?? model.context_window
    const maxOutputTokens = entry.max_output ?? model.max_output
    if (maxOutputTokens > contextWindow) {
      return yield* Result.fail(
        catalogFault(path, `max_output ${maxOutputTokens} exceeds context_window ${contextWindow}`)
      )
    }
    const protocol = model.protocol ?? entry.protocol ?? provider.protocol
    const price = yield* priceOf(entry, path)
    if (isAbsurd(price, { contextWindow, maxOutputTokens })) {
      return yield* Result.fail(catalogFault(path, "prices one request at more than 100,000 USD, which is a mistake"))
    }
    return {
      id: endpointId(`${provider.id}/${model.id}`),
      provider: provider.id,
      upstream: entry.upstream ?? model.id,
      protocol,
      price,
      contextWindow,
      maxOutputTokens,
      structuredOutput: entry.structured_output ?? model.structured_output ?? false,
      jsonMode: entry.json_mode ?? protocolsWithJsonMode.has(protocol),
      exclusive: entry.exclusive ?? []
    }
  })

/**
 * Far beyond the price of any request, and so small that no account overflows by charges: a higher price is a decimal
 * point in the wrong place.
 */
const maxRequestCost = 100_000_000_000_000_000n

/** No upload is longer, in hours: 25 MB at the lowest rate of speech codecs. */
const maxAudioHours = 24n

/** True for a price at which the largest request to an endpoint would cost more than any can. */
export const isAbsurd = (price: Price, limits: Pick<Endpoint, "contextWindow" | "maxOutputTokens">): boolean =>
  worstCost(price, limits) > maxRequestCost * (price.divisor ?? 1n)

/** What the largest request costs before any divisor, all of it at the highest rate of any tier. */
const worstCost = (
  { rates, tiers }: Price,
  { contextWindow, maxOutputTokens }: Pick<Endpoint, "contextWindow" | "maxOutputTokens">
): bigint => {
  const all = [rates, ...tiers.map((tier) => tier.rates)]
  const highest = (pick: (one: Rates) => ReadonlyArray<bigint>): bigint =>
    all.flatMap(pick).reduce((most, rate) => (rate > most ? rate : most), 0n)
  const input = highest((one) => [one.input, one.cacheRead, one.cacheWrite5m, one.cacheWrite1h, one.audioInput])
  const output = highest((one) => [one.output])
  const hour = highest((one) => [one.audioHour ?? 0n])
  return BigInt(contextWindow) * input + BigInt(maxOutputTokens) * output + maxAudioHours * hour
}
