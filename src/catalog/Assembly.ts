/**
 * Turns catalog files into providers and models: defaults filled in, decimals turned into picodollars, later files laid
 * over earlier ones by id. What the schema cannot see is checked here: references, duplicates, ascending tiers.
 */
import { Result } from "effect"

import { endpointId, modelId, providerId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import type { Tier as ReasoningTier } from "../domain/Reasoning.ts"
import {
  type CatalogError,
  type CatalogFile,
  decimalPrice,
  fault,
  type ModelEntry,
  type PriceEntry,
  type ProviderEntry
} from "./CatalogFile.ts"
import { axes, type Axis, type Endpoint, type Model, type Profile } from "./Model.ts"
import type { Price, Rates } from "./Price.ts"
import type { Provider } from "./Provider.ts"

export interface Assembly {
  readonly providers: ReadonlyMap<string, Provider>
  readonly models: ReadonlyMap<string, Model>
}

type Checked<A> = Result.Result<A, CatalogError>

/** Later files add to earlier ones, or replace a provider or a model of the same id as a whole. */
export const assemble = (files: ReadonlyArray<CatalogFile>): Checked<Assembly> =>
  Result.gen(function* () {
    const providers = new Map<string, Provider>()
    const models = new Map<string, Model>()
    for (const file of files) {
      const entries = yield* distinct("providers", file.providers ?? [])
      for (const entry of entries) providers.set(entry.id, providerOf(entry))
    }
    for (const file of files) {
      const entries = yield* distinct("models", file.models ?? [])
      for (const [index, entry] of entries.entries()) {
        models.set(entry.id, yield* modelOf(entry, `models[${index}]`, providers))
      }
    }
    return { providers, models }
  })

/** `entries`, unless two of them have one id. */
const distinct = <Entry extends { readonly id: string }>(
  list: string,
  entries: ReadonlyArray<Entry>
): Checked<ReadonlyArray<Entry>> => {
  const seen = new Map<string, number>()
  for (const [index, { id }] of entries.entries()) {
    const earlier = seen.get(id)
    if (earlier !== undefined) {
      return Result.fail(fault(`${list}[${index}].id`, `"${id}" is already ${list}[${earlier}]`))
    }
    seen.set(id, index)
  }
  return Result.succeed(entries)
}

const providerOf = (entry: ProviderEntry): Provider => {
  const variable = entry.id.toUpperCase().replaceAll("-", "_")
  return {
    id: providerId(entry.id),
    protocol: entry.protocol,
    dialect: entry.dialect ?? "generic",
    baseUrl: (entry.base_url ?? "").replace(/\/+$/, ""),
    apiKeyEnv: entry.api_key_env ?? `${variable}_API_KEY`,
    baseUrlEnv: entry.base_url_env ?? `${variable}_BASE_URL`,
    auth: entry.auth ?? "bearer"
  }
}

const modelOf = (entry: ModelEntry, path: string, providers: ReadonlyMap<string, Provider>): Checked<Model> =>
  Result.gen(function* () {
    const [first, ...others] = entry.endpoints
    const head = yield* endpointOf(entry, first, `${path}.endpoints[0]`, providers)
    const rest: Array<Endpoint> = []
    for (const [index, other] of others.entries()) {
      rest.push(yield* endpointOf(entry, other, `${path}.endpoints[${index + 1}]`, providers))
    }
    const endpoints: Model["endpoints"] = [head, ...rest]
    const twice = endpoints.findIndex(({ id }, index) => endpoints.findIndex((endpoint) => endpoint.id === id) < index)
    if (twice !== -1) {
      return yield* Result.fail(fault(`${path}.endpoints[${twice}].provider`, "serves this model already"))
    }
    const reasoning = yield* reasoningOf(entry, path)
    const tools = entry.tools ?? true
    return {
      id: modelId(entry.id),
      created: entry.released === undefined ? 0 : unixSeconds(entry.released),
      ownedBy: entry.owned_by ?? first.provider,
      modalities: {
        image: entry.input?.includes("image") ?? false,
        audio: entry.input?.includes("audio") ?? false
      },
      tools,
      forcedToolChoice: entry.forced_tool_choice ?? tools,
      structuredOutput: entry.structured_output ?? false,
      sampling: entry.sampling ?? "always",
      reasoning,
      profiles: yield* profilesOf(entry, path),
      verbosity: entry.verbosity ?? 1,
      endpoints
    }
  })

const endpointOf = (
  model: ModelEntry,
  entry: ModelEntry["endpoints"][number],
  path: string,
  providers: ReadonlyMap<string, Provider>
): Checked<Endpoint> =>
  Result.gen(function* () {
    const provider = providers.get(entry.provider)
    if (provider === undefined) {
      return yield* Result.fail(fault(`${path}.provider`, `"${entry.provider}" is not a provider of this catalog`))
    }
    const contextWindow = entry.context_window ?? model.context_window
    const maxOutputTokens = entry.max_output ?? model.max_output
    if (maxOutputTokens > contextWindow) {
      return yield* Result.fail(fault(path, `max_output ${maxOutputTokens} exceeds context_window ${contextWindow}`))
    }
    return {
      id: endpointId(`${provider.id}/${model.id}`),
      provider: provider.id,
      upstream: entry.upstream ?? model.id,
      protocol: entry.protocol ?? provider.protocol,
      price: yield* priceOf(entry.price_usd_per_mtok, `${path}.price_usd_per_mtok`),
      contextWindow,
      maxOutputTokens
    }
  })

const priceOf = (entry: PriceEntry, path: string): Checked<Price> => {
  const tiers = (entry.tiers ?? []).map((tier) => ({
    abovePromptTokens: tier.above_prompt_tokens,
    rates: ratesOf(tier)
  }))
  const unsorted = tiers.findIndex(
    ({ abovePromptTokens }, index) => abovePromptTokens <= (tiers[index - 1]?.abovePromptTokens ?? 0)
  )
  return unsorted === -1
    ? Result.succeed({ rates: ratesOf(entry), tiers })
    : Result.fail(fault(`${path}.tiers[${unsorted}].above_prompt_tokens`, "must be above the tier before it"))
}

/** A missing cache or audio rate is the plain input rate: never below what the provider may ask. */
const ratesOf = (entry: Omit<PriceEntry, "tiers">): Rates => {
  const input = picodollarsPerToken(entry.input)
  const rate = (value: number | string | undefined, otherwise: Picodollars): Picodollars =>
    value === undefined ? otherwise : picodollarsPerToken(value)
  const cacheWrite5m = rate(entry.cache_write, input)
  return {
    input,
    cacheRead: rate(entry.cache_read, input),
    cacheWrite5m,
    cacheWrite1h: rate(entry.cache_write_1h, cacheWrite5m),
    audioInput: rate(entry.audio_input, input),
    output: picodollarsPerToken(entry.output)
  }
}

/** One USD per million tokens is 10^6 picodollars per token, so six decimals make a whole number; the text is moved. */
const picodollarsPerToken = (usdPerMillion: number | string): Picodollars => {
  const [, whole = "0", fraction = ""] = decimalPrice.exec(String(usdPerMillion)) ?? []
  return picodollars(BigInt(whole + fraction.padEnd(6, "0")))
}

const reasoningOf = (entry: ModelEntry, path: string): Checked<Model["reasoning"]> => {
  const { budget_tokens: budgetTokens, efforts = [], support } = entry.reasoning ?? { support: "none" as const }
  if (support === "none" && (efforts.length > 0 || budgetTokens !== undefined)) {
    return Result.fail(fault(`${path}.reasoning.support`, "a model that does not reason has no efforts and no budget"))
  }
  if (budgetTokens !== undefined && budgetTokens.min > budgetTokens.max) {
    return Result.fail(fault(`${path}.reasoning.budget_tokens.max`, "must not be below min"))
  }
  return Result.succeed({ support, efforts, ...(budgetTokens && { budgetTokens }) })
}

/** Skill of a model nobody measured: it may do everyday work, and is not sent anything hard. */
const unmeasured = 0.4
// `fromEntries` forgets its keys; they are exactly the axes.
const unmeasuredProfile = Object.fromEntries(axes.map((axis) => [axis, unmeasured])) as Record<Axis, number>

/** The tier's own figures, else those of the nearest tier, the one with less thinking first. */
const nearestTiers = {
  none: ["none", "low", "high"],
  low: ["low", "none", "high"],
  high: ["high", "low", "none"]
} as const satisfies Record<ReasoningTier, ReadonlyArray<ReasoningTier>>

const profilesOf = (entry: ModelEntry, path: string): Checked<Model["profiles"]> => {
  const support = entry.reasoning?.support ?? "none"
  const served: ReadonlyArray<ReasoningTier> = [
    ...(support === "always" ? [] : (["none"] as const)),
    ...(support === "none" ? [] : (["low", "high"] as const))
  ]
  const given = entry.profiles ?? {}
  for (const tier of ["none", "low", "high"] as const) {
    if (given[tier] !== undefined && !served.includes(tier)) {
      return Result.fail(fault(`${path}.profiles.${tier}`, "the model cannot serve this tier"))
    }
  }
  const profileOf = (tier: ReasoningTier): Profile =>
    nearestTiers[tier].map((near) => given[near]).find((profile) => profile !== undefined) ?? unmeasuredProfile
  return Result.succeed(Object.fromEntries(served.map((tier) => [tier, profileOf(tier)])))
}

const unixSeconds = (date: string): number => {
  const [year = 1970, month = 1, day = 1] = date.split("-").map(Number)
  return Date.UTC(year, month - 1, day) / 1_000
}
