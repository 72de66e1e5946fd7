/**
 * The models this gateway serves. Built once at start from the shipped data, the operator's `CATALOG_FILE` and the
 * providers that are switched on; a fault in any entry stops the start with the path of the fault. Never fetched.
 */
import { createHash } from "node:crypto"

import { Context, Effect, Layer, Redacted, Result } from "effect"

import type { ModelId, ProviderId } from "../domain/Ids.ts"
import { type Assembly, assemble } from "./Assembly.ts"
import shipped from "./catalog.json" with { type: "json" }
import { type CatalogError, catalogFault, catalogFileFromJson } from "./CatalogFile.ts"
import type { Model } from "./Model.ts"
import type { ProviderAccount, Provider } from "./Provider.ts"

export type ModelLookup =
  | { readonly _tag: "Served"; readonly model: Model }
  /** In the catalog, but no provider that serves it is switched on; `variables` would switch one on. */
  | { readonly _tag: "Unserved"; readonly variables: ReadonlyArray<string> }
  | { readonly _tag: "Unknown" }

export interface CatalogSources<E = never> {
  /** The operator's file as text: adds to the shipped catalog, or replaces its entries by id. */
  readonly overlay?: string | undefined
  /** The account of a provider; `undefined` when it is switched off. */
  readonly account: (provider: Provider) => Effect.Effect<ProviderAccount | undefined, E>
}

export class Catalog extends Context.Service<
  Catalog,
  {
    /** Identifies the prices and models in force: the first 12 hex digits of a hash of the merged data. */
    readonly version: string
    /** Models with at least one endpoint whose provider is switched on, and those endpoints only; ordered by id. */
    readonly models: ReadonlyArray<Model>
    readonly lookup: (id: string) => ModelLookup
    readonly account: (provider: ProviderId) => ProviderAccount | undefined
    /** Ids of all models known, served or not. */
    readonly known: ReadonlyArray<ModelId>
  }
>()("tollgate/catalog/Catalog") {
  static readonly layer = <E = never>(sources: CatalogSources<E>): Layer.Layer<Catalog, CatalogError | E> =>
    Layer.effect(
      Catalog,
      Effect.gen(function* () {
        const assembly = yield* Effect.fromResult(loadCatalog(sources.overlay))
        const accounts = new Map<ProviderId, ProviderAccount>()
        for (const provider of assembly.providers.values()) {
          const account = yield* sources.account(provider)
          if (account !== undefined && account.baseUrl !== "") accounts.set(provider.id, withOptionalKey(account))
        }
        return Catalog.of(serve(assembly, accounts))
      })
    )
}

/** The shipped catalog with the operator's file, if any, laid over it. */
export const loadCatalog = (overlay?: string): Result.Result<Assembly, CatalogError> => {
  const files: Array<unknown> = [shipped]
  return overlay === undefined
    ? loadCatalogFiles(files)
    : Result.flatMap(parse(overlay), (json) => loadCatalogFiles([...files, json]))
}

/** A catalog in place of the shipped one, of which only the providers stay known: a file may list models alone. */
export const loadReplacementCatalog = (text: string): Result.Result<Assembly, CatalogError> =>
  Result.flatMap(parse(text), (json) => loadCatalogFiles([{ providers: shipped.providers }, json]))

/** Catalog files as parsed JSON, later ones over earlier ones; the shipped catalog takes no part. */
export const loadCatalogFiles = (files: ReadonlyArray<unknown>): Result.Result<Assembly, CatalogError> =>
  Result.flatMap(Result.all(files.map(catalogFileFromJson)), assemble)

const parse = (text: string): Result.Result<unknown, CatalogError> =>
  Result.mapError(
    Result.try((): unknown => JSON.parse(text)),
    (cause) => catalogFault("", `is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  )

/** A server that needs no key but was given one (vLLM and Ollama behind a proxy) gets it as bearer. */
const withOptionalKey = (account: ProviderAccount): ProviderAccount =>
  account.provider.auth === "none" && Redacted.value(account.apiKey) !== ""
    ? { ...account, provider: { ...account.provider, auth: "bearer" } }
    : account

/** What is served with these accounts. */
export const serve = (
  { models, providers }: Assembly,
  accounts: ReadonlyMap<ProviderId, ProviderAccount>
): Catalog["Service"] => {
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
  return {
    version: versionOf({ models, providers }),
    models: [...served.values()],
    lookup: (id) => {
      const model = served.get(id)
      if (model !== undefined) return { _tag: "Served", model }
      const unserved = models.get(id)
      return unserved === undefined ? { _tag: "Unknown" } : { _tag: "Unserved", variables: variablesOf(unserved) }
    },
    account: (provider) => accounts.get(provider),
    known: known.map((model) => model.id)
  }
}

/** Independent of the order of entries and fields in the files. */
const versionOf = ({ models, providers }: Assembly): string => {
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
