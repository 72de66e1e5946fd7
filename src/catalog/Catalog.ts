/**
 * The models that this gateway serves. Built once at start from the shipped data, the operator's `CATALOG_FILE` and the
 * providers that are switched on. A fault in any entry stops the start and is reported with its path. Nothing is
 * fetched over the network.
 */
import { createHash } from "node:crypto"

import { Context, Effect, Layer, Redacted, Result } from "effect"

import type { ModelId, ProviderId } from "../domain/Ids.ts"
import shipped from "./catalog.json" with { type: "json" }
import { type CatalogData, mergeCatalogFiles } from "./CatalogData.ts"
import { type CatalogError, catalogFault, catalogFileFromJson } from "./CatalogFile.ts"
import type { Model } from "./Model.ts"
import { modelAliases } from "./ModelAliases.ts"
import type { Offer } from "./Offer.ts"
import type { ProviderAccount, Provider } from "./Provider.ts"

export interface CatalogSources<E = never> {
  /** The text of the operator's file, which adds to the shipped catalog or replaces its entries by id. */
  readonly overlay?: string | undefined
  /** The account of a provider; `undefined` when it is switched off. */
  readonly account: (provider: Provider) => Effect.Effect<ProviderAccount | undefined, E>
}

export class Catalog extends Context.Service<
  Catalog,
  Offer & {
    /** Identifies the models and prices in use: the first 12 hex digits of a SHA-256 of the merged data. */
    readonly version: string
    /** `undefined` when the provider is switched off. */
    readonly account: (provider: ProviderId) => ProviderAccount | undefined
    /** The ids of all models of the catalog, served or not. */
    readonly known: ReadonlyArray<ModelId>
    /** The whole catalog, with models and providers that are not served. */
    readonly data: CatalogData
  }
>()("tollgate/catalog/Catalog") {
  static readonly layer = <E = never>(sources: CatalogSources<E>): Layer.Layer<Catalog, CatalogError | E> =>
    Layer.effect(
      Catalog,
      Effect.gen(function* () {
        const data = yield* Effect.fromResult(loadCatalog(sources.overlay))
        const accounts = new Map<ProviderId, ProviderAccount>()
        for (const provider of data.providers.values()) {
          const account = yield* sources.account(provider)
          if (account !== undefined && account.baseUrl !== "") accounts.set(provider.id, withOptionalKey(account))
        }
        return Catalog.of(servedCatalog(data, accounts))
      })
    )
}

/** The shipped catalog, merged with the operator's file if there is one. */
export const loadCatalog = (overlay?: string): Result.Result<CatalogData, CatalogError> => {
  const files: Array<unknown> = [shipped]
  return overlay === undefined
    ? loadCatalogFiles(files)
    : Result.flatMap(parse(overlay), (json) => loadCatalogFiles([...files, json]))
}

/** A catalog that replaces the shipped one, except for the shipped providers: the file may list models alone. */
export const loadReplacementCatalog = (text: string): Result.Result<CatalogData, CatalogError> =>
  Result.flatMap(parse(text), (json) => loadCatalogFiles([{ providers: shipped.providers }, json]))

/**
 * Merges catalog files, given as parsed JSON, without the shipped catalog. Later files replace entries of earlier ones.
 */
export const loadCatalogFiles = (files: ReadonlyArray<unknown>): Result.Result<CatalogData, CatalogError> =>
  Result.flatMap(Result.all(files.map(catalogFileFromJson)), mergeCatalogFiles)

const parse = (text: string): Result.Result<unknown, CatalogError> =>
  Result.mapError(
    Result.try((): unknown => JSON.parse(text)),
    (cause) => catalogFault("", `is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  )

/** A key that is set for a server that needs none (vLLM or Ollama behind a proxy) is sent as a bearer token. */
const withOptionalKey = (account: ProviderAccount): ProviderAccount =>
  account.provider.auth === "none" && Redacted.value(account.apiKey) !== ""
    ? { ...account, provider: { ...account.provider, auth: "bearer" } }
    : account

/** The catalog that is served with these accounts. */
export const servedCatalog = (
  data: CatalogData,
  accounts: ReadonlyMap<ProviderId, ProviderAccount>
): Catalog["Service"] => {
  const { models, providers } = data
  const known = [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const served = new Map<string, Model>()
  for (const model of known) {
    const [first, ...others] = model.endpoints.filter((endpoint) => accounts.has(endpoint.provider))
    if (first !== undefined) served.set(model.id, { ...model, endpoints: [first, ...others] })
  }
  const variablesOf = (model: Model): ReadonlyArray<string> =>
    model.endpoints.flatMap((endpoint) => {
      const provider = providers.get(endpoint.provider)
      if (provider === undefined) return []
      return [provider.auth === "none" ? provider.baseUrlEnv : provider.apiKeyEnv]
    })
  const resolveAlias = modelAliases(models)
  return {
    version: versionOf({ models, providers }),
    models: [...served.values()],
    lookup: (name) => {
      const id = models.has(name) ? name : (data.aliases?.get(name) ?? resolveAlias(name) ?? name)
      const model = served.get(id)
      if (model !== undefined) return { _tag: "Served", model }
      const unserved = models.get(id)
      return unserved === undefined ? { _tag: "Unknown" } : { _tag: "Unserved", variables: variablesOf(unserved) }
    },
    account: (provider) => accounts.get(provider),
    known: known.map((model) => model.id),
    data
  }
}

/** The version does not depend on the order of entries and fields in the files. */
const versionOf = ({ models, providers }: CatalogData): string => {
  const canonical = JSON.stringify(
    [Object.fromEntries(providers), Object.fromEntries(models)],
    (_key, value: unknown) =>
      typeof value === "bigint"
        ? value.toString()
        : typeof value === "object" && value !== null && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
          : value
  )
  return createHash("sha256").update(canonical).digest("hex").slice(0, 12)
}
