/**
 * Turns catalog files into providers and models: fills in the defaults and merges the files by id. What the schema
 * cannot express is checked here, in `EndpointsFromFile` and in `PriceFromFile`: references between entries,
 * duplicates, contradictory prices.
 */
import { Result } from "effect"

import { type ModelId, modelId, providerId } from "../domain/Ids.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import {
  type CatalogFile,
  type CatalogResult,
  catalogFault,
  type ChargesEntry,
  type DataPolicyEntry,
  type ModelEntry,
  type ProviderEntry,
  type TranscriptionModelEntry
} from "./CatalogFile.ts"
import { chargedByCatalog } from "./ChargeRules.ts"
import { embeddingModelOf } from "./EmbeddingModels.ts"
import { type EndpointList, endpointsOf, type ProvidersById } from "./EndpointsFromFile.ts"
import { type Model, perAxis, type Profile } from "./Model.ts"
import type { DataPolicy, Provider } from "./Provider.ts"

/** The merged content of catalog files, by id, whether or not any provider is switched on. */
export interface CatalogData {
  readonly providers: ReadonlyMap<string, Provider>
  readonly models: ReadonlyMap<string, Model>
  /** The ids of models by further names that operators gave them. Absent where there are none. */
  readonly aliases?: ReadonlyMap<string, ModelId>
}

/** A provider or model of a later file replaces the earlier one of the same id as a whole. */
export const mergeCatalogFiles = (files: ReadonlyArray<CatalogFile>): CatalogResult<CatalogData> =>
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
      const embedding = yield* distinct("embedding_models", file.embedding_models ?? [])
      for (const [index, entry] of embedding.entries()) {
        const path = `embedding_models[${index}]`
        const model = yield* embeddingModelOf(entry, path, providers, unixSeconds(entry.released))
        models.set(entry.id, yield* ofOneKind(models, model, path))
      }
    }
    const charge = files.map((file) => file.charge ?? {}).reduce(mergedCharges, {})
    const charged = yield* chargedByCatalog(models, providers, charge)
    const aliases = yield* aliasesOf(files, charged)
    return { providers, models: charged, ...(aliases.size > 0 && { aliases }) }
  })

/** An alias of a later file replaces the earlier one of the same name. */
const aliasesOf = (
  files: ReadonlyArray<CatalogFile>,
  models: CatalogData["models"]
): CatalogResult<ReadonlyMap<string, ModelId>> => {
  const aliases = new Map<string, ModelId>()
  for (const [name, id] of files.flatMap((file) => Object.entries(file.aliases ?? {}))) {
    const model = models.get(id)
    if (model === undefined) {
      return Result.fail(catalogFault(`aliases.${name}`, `"${id}" is not a model of this catalog`))
    }
    if (models.has(name)) return Result.fail(catalogFault(`aliases.${name}`, "is the id of a model"))
    aliases.set(name, model.id)
  }
  return Result.succeed(aliases)
}

/** A rule of a later file replaces the earlier one for the same model or provider, or for all. */
const mergedCharges = (earlier: ChargesEntry, later: ChargesEntry): ChargesEntry => ({
  ...earlier,
  ...later,
  providers: { ...earlier.providers, ...later.providers },
  models: { ...earlier.models, ...later.models }
})

/** `entries`, or a fault when two of them have the same id. */
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

/** `model`, or a fault when a model of another kind has the same id. */
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
    auth: entry.auth ?? "bearer",
    ...(entry.data_policy && { dataPolicy: dataPolicyOf(entry.data_policy) })
  }
}

const dataPolicyOf = ({ may_train: mayTrain, retention_days: retentionDays }: DataPolicyEntry): DataPolicy => ({
  ...(mayTrain !== undefined && { mayTrain }),
  ...(retentionDays !== undefined && { retentionDays })
})

const chatModelOf = (entry: ModelEntry, path: string, providers: ProvidersById): CatalogResult<Model> =>
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
      structuredOutput: endpoints.some((endpoint) => endpoint.structuredOutput),
      sampling: entry.sampling ?? "always",
      reasoning,
      profiles: yield* profilesOf(entry, path),
      verbosity: entry.verbosity ?? 1,
      endpoints
    }
  })

/** The default limits of a transcription model in tokens: more than the largest upload can contain. */
const transcriptionWindow = 131_072

const transcriptionModelOf = (
  entry: TranscriptionModelEntry,
  path: string,
  providers: ProvidersById
): CatalogResult<Model> => {
  const context_window = entry.context_window ?? transcriptionWindow
  const endpointList: EndpointList = {
    id: entry.id,
    protocol: "openai-transcription",
    context_window,
    max_output: entry.max_output ?? context_window,
    endpoints: entry.endpoints
  }
  return Result.map(endpointsOf(endpointList, path, providers), (endpoints) => ({
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

/** The level of a model without a profile on every axis: enough for easy requests, and too low for difficult ones. */
const unmeasuredLevel = 0.4
const unmeasuredProfile: Profile = perAxis(() => unmeasuredLevel)

/** Which profile a tier uses, in order of preference: its own, then that of the nearest tier, less reasoning first. */
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

/** Unix seconds of a date `YYYY-MM` or `YYYY-MM-DD`, in UTC; 0 where the catalog gives none. */
const unixSeconds = (date = "1970"): number => {
  const [year = 1970, month = 1, day = 1] = date.split("-").map(Number)
  return Date.UTC(year, month - 1, day) / 1_000
}
