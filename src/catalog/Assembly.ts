/**
 * Turns catalog files into providers and models: defaults filled in, later files laid over earlier ones by id. What the
 * schema cannot see is checked here and in `PriceFromFile`: references, duplicates, prices that contradict themselves.
 */
import { Result } from "effect"

import { endpointId, modelId, providerId } from "../domain/Ids.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import {
  type CatalogFile,
  type CatalogResult,
  catalogFault,
  type ModelEntry,
  type ProviderEntry,
  type TranscriptionModelEntry
} from "./CatalogFile.ts"
import { type Endpoint, type Model, perAxis, type Profile, type ProtocolName } from "./Model.ts"
import { type PricedEntry, priceOf } from "./PriceFromFile.ts"
import type { Provider } from "./Provider.ts"

export interface Assembly {
  readonly providers: ReadonlyMap<string, Provider>
  readonly models: ReadonlyMap<string, Model>
}

/** Later files add to earlier ones, or replace a provider or a model of the same id as a whole. */
export const assemble = (files: ReadonlyArray<CatalogFile>): CatalogResult<Assembly> =>
  Result.gen(function* () {
    const providers = new Map<string, Provider>()
    const models = new Map<string, Model>()
    for (const file of files) {
      const entries = yield* distinct("providers", file.providers ?? [])
      for (const entry of entries) providers.set(entry.id, providerOf(entry))
    }
    for (const file of files) {
      const chat = yield* distinct("models", file.models ?? [])
      for (const [index, entry] of chat.entries()) {
        const path = `models[${index}]`
        models.set(entry.id, yield* ofOneKind(models, yield* chatModelOf(entry, path, providers), path))
      }
      const transcription = yield* distinct("transcription_models", file.transcription_models ?? [])
      for (const [index, entry] of transcription.entries()) {
        const path = `transcription_models[${index}]`
        models.set(entry.id, yield* ofOneKind(models, yield* transcriptionModelOf(entry, path, providers), path))
      }
    }
    return { providers, models }
  })

/** `entries`, unless two of them have one id. */
const distinct = <Entry extends { readonly id: string }>(
  list: string,
  entries: ReadonlyArray<Entry>
): CatalogResult<ReadonlyArray<Entry>> => {
  const seen = new Map<string, number>()
  for (const [index, { id }] of entries.entries()) {
    const earlier = seen.get(id)
    if (earlier !== undefined) {
      return Result.fail(catalogFault(`${list}[${index}].id`, `"${id}" is already ${list}[${earlier}]`))
    }
    seen.set(id, index)
  }
  return Result.succeed(entries)
}

/** `model`, unless one of the other kind has its id. */
const ofOneKind = (models: ReadonlyMap<string, Model>, model: Model, path: string): CatalogResult<Model> => {
  const earlier = models.get(model.id)
  return earlier === undefined || earlier.kind === model.kind
    ? Result.succeed(model)
    : Result.fail(catalogFault(`${path}.id`, `"${model.id}" is a ${earlier.kind} model already`))
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

type Providers = ReadonlyMap<string, Provider>

const chatModelOf = (entry: ModelEntry, path: string, providers: Providers): CatalogResult<Model> =>
  Result.gen(function* () {
    const endpoints = yield* endpointsOf(entry, path, providers)
    const reasoning = yield* reasoningOf(entry, path)
    const tools = entry.tools ?? true
    return {
      id: modelId(entry.id),
      kind: "chat",
      created: unixSeconds(entry.released),
      ownedBy: entry.owned_by ?? endpoints[0].provider,
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

/** Tokens that a transcription model reads and writes when its entry does not say: more than a whole upload holds. */
const transcriptionWindow = 131_072

const transcriptionModelOf = (
  entry: TranscriptionModelEntry,
  path: string,
  providers: Providers
): CatalogResult<Model> => {
  const context_window = entry.context_window ?? transcriptionWindow
  const list: EndpointList = {
    id: entry.id,
    protocol: "openai-transcription",
    context_window,
    max_output: entry.max_output ?? context_window,
    endpoints: entry.endpoints
  }
  return Result.map(endpointsOf(list, path, providers), (endpoints) => ({
    id: modelId(entry.id),
    kind: "transcription",
    created: unixSeconds(entry.released),
    ownedBy: entry.owned_by ?? endpoints[0].provider,
    modalities: { image: false, audio: true },
    tools: false,
    forcedToolChoice: false,
    structuredOutput: false,
    sampling: "always",
    reasoning: { support: "none", efforts: [] },
    profiles: {},
    verbosity: 1,
    endpoints
  }))
}

/** What the entries of both kinds say of their endpoints. */
interface EndpointList {
  readonly id: string
  /** Left out: each endpoint's own, else its provider's. */
  readonly protocol?: ProtocolName
  readonly context_window: number
  readonly max_output: number
  readonly endpoints: readonly [EndpointEntry, ...Array<EndpointEntry>]
}

type EndpointEntry = Omit<ModelEntry["endpoints"][number], keyof PricedEntry> & PricedEntry

const endpointsOf = (model: EndpointList, path: string, providers: Providers): CatalogResult<Model["endpoints"]> =>
  Result.gen(function* () {
    const [first, ...others] = model.endpoints
    const head = yield* endpointOf(model, first, `${path}.endpoints[0]`, providers)
    const rest: Array<Endpoint> = []
    for (const [index, other] of others.entries()) {
      rest.push(yield* endpointOf(model, other, `${path}.endpoints[${index + 1}]`, providers))
    }
    const endpoints: Model["endpoints"] = [head, ...rest]
    const twice = endpoints.findIndex(({ id }, index) => endpoints.findIndex((endpoint) => endpoint.id === id) < index)
    return twice === -1
      ? endpoints
      : yield* Result.fail(catalogFault(`${path}.endpoints[${twice}].provider`, "serves this model already"))
  })

const endpointOf = (
  model: EndpointList,
  entry: EndpointEntry,
  path: string,
  providers: Providers
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
    return {
      id: endpointId(`${provider.id}/${model.id}`),
      provider: provider.id,
      upstream: entry.upstream ?? model.id,
      protocol: model.protocol ?? entry.protocol ?? provider.protocol,
      price: yield* priceOf(entry, path),
      contextWindow,
      maxOutputTokens
    }
  })

const reasoningOf = (entry: ModelEntry, path: string): CatalogResult<Model["reasoning"]> => {
  const { budget_tokens: budgetTokens, efforts = [], support } = entry.reasoning ?? { support: "none" as const }
  if (support === "none" && (efforts.length > 0 || budgetTokens !== undefined)) {
    return Result.fail(
      catalogFault(`${path}.reasoning.support`, "a model that does not reason has no efforts and no budget")
    )
  }
  if (budgetTokens !== undefined && budgetTokens.min > budgetTokens.max) {
    return Result.fail(catalogFault(`${path}.reasoning.budget_tokens.max`, "must not be below min"))
  }
  return Result.succeed({ support, efforts, ...(budgetTokens && { budgetTokens }) })
}

/** Skill of a model nobody measured: it may do everyday work, and is not sent anything hard. */
const unmeasured = 0.4
const unmeasuredProfile: Profile = perAxis(() => unmeasured)

/** The tier's own figures, else those of the nearest tier, the one with less thinking first. */
const nearestTiers = {
  none: ["none", "low", "high"],
  low: ["low", "none", "high"],
  high: ["high", "low", "none"]
} as const satisfies Record<ReasoningTier, ReadonlyArray<ReasoningTier>>

const profilesOf = (entry: ModelEntry, path: string): CatalogResult<Model["profiles"]> => {
  const support = entry.reasoning?.support ?? "none"
  const served: ReadonlyArray<ReasoningTier> = [
    ...(support === "always" ? [] : (["none"] as const)),
    ...(support === "none" ? [] : (["low", "high"] as const))
  ]
  const given = entry.profiles ?? {}
  for (const tier of ["none", "low", "high"] as const) {
    if (given[tier] !== undefined && !served.includes(tier)) {
      return Result.fail(catalogFault(`${path}.profiles.${tier}`, "the model cannot serve this tier"))
    }
  }
  const profileOf = (tier: ReasoningTier): Profile =>
    nearestTiers[tier].map((near) => given[near]).find((profile) => profile !== undefined) ?? unmeasuredProfile
  return Result.succeed(Object.fromEntries(served.map((tier) => [tier, profileOf(tier)])))
}

/** Seconds since 1970 of a date `YYYY-MM` or `YYYY-MM-DD`, in UTC; 0 where the catalog gives none. */
const unixSeconds = (date = "1970"): number => {
  const [year = 1970, month = 1, day = 1] = date.split("-").map(Number)
  return Date.UTC(year, month - 1, day) / 1_000
}
