/**
 * The catalog that `tollgate route` goes by: the file of `--catalog` in place of the gateway's own, and of that which
 * models count as served.
 */
import { Effect, FileSystem, Layer, Option } from "effect"
import { Flag } from "effect/cli"

import { Catalog, loadCatalog, loadReplacementCatalog, serve } from "../catalog/Catalog.ts"
import { CatalogError } from "../catalog/CatalogFile.ts"
import * as Accounts from "../catalog/ProviderAccounts.ts"
import { settings } from "../Config.ts"

export const catalog = Flag.String("catalog").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription(
    "A catalog in the schema of CATALOG_FILE that takes the place of the shipped one. Its providers stay known."
  ),
  Flag.optional
)

export const everyModel = Flag.Boolean("every-model").pipe(
  Flag.withDescription("Count every model of the catalog as served, whatever providers are switched on."),
  Flag.withDefault(false)
)

export interface CatalogChoice {
  readonly catalog: Option.Option<string>
  /**
   * Needs no environment. Otherwise models are served as a gateway with this environment serves them: by the providers
   * that are switched on, or all of them when none is.
   */
  readonly everyModel: boolean
}

export const routeCatalogLayer = ({ catalog, everyModel }: CatalogChoice) =>
  Layer.effect(
    Catalog,
    Effect.gen(function* () {
      const known = yield* assembly(catalog, everyModel)
      const providers = [...known.providers.values()]
      const every = Accounts.simulated(providers, () => "")
      if (everyModel) return Catalog.of(serve(known, every))
      const configured = [...(yield* Accounts.configured(providers))].filter(([, { baseUrl }]) => baseUrl !== "")
      return Catalog.of(serve(known, configured.length === 0 ? every : new Map(configured)))
    })
  )

const assembly = Effect.fnUntraced(function* (file: Option.Option<string>, shippedAlone: boolean) {
  const files = yield* FileSystem.FileSystem
  if (Option.isSome(file)) {
    const loaded = loadReplacementCatalog(yield* files.readFileString(file.value))
    return yield* Effect.mapError(Effect.fromResult(loaded), named(file.value))
  }
  const overlay = shippedAlone ? Option.none() : (yield* settings).catalogFile
  if (Option.isNone(overlay)) return yield* Effect.fromResult(loadCatalog())
  const loaded = loadCatalog(yield* files.readFileString(overlay.value))
  return yield* Effect.mapError(Effect.fromResult(loaded), named("CATALOG_FILE"))
})

const named =
  (file: string) =>
  ({ message, path }: CatalogError): CatalogError =>
    new CatalogError({ path, message: `${file}: ${message}` })
