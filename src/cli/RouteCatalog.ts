/**
 * The catalog that the `tollgate route` commands use: the file given as `--catalog`, or else the gateway's own catalog.
 * Also decides which of its models count as served.
 */
import { Effect, FileSystem, Layer, Option } from "effect"
import { Flag } from "effect/cli"

import { Catalog, loadCatalog, loadReplacementCatalog, servedCatalog } from "../catalog/Catalog.ts"
import { CatalogError } from "../catalog/CatalogFile.ts"
import * as Accounts from "../catalog/ProviderAccounts.ts"
import { settings } from "../Config.ts"

export const catalog = Flag.String("catalog").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription(
    "A catalog in the schema of CATALOG_FILE that replaces the shipped one, except for its providers."
  ),
  Flag.optional
)

export const everyModel = Flag.Boolean("every-model").pipe(
  Flag.withDescription("Count every model of the catalog as served, whichever providers are switched on."),
  Flag.withDefault(false)
)

export interface CatalogChoice {
  readonly catalog: Option.Option<string>
  /**
   * True: every model counts as served, and the environment is not read. False: models are served as by a gateway with
   * this environment, which is by the providers that are switched on, or by all of them when none is.
   */
  readonly everyModel: boolean
}

export const routeCatalogLayer = ({ catalog, everyModel }: CatalogChoice) =>
  Layer.effect(
    Catalog,
    Effect.gen(function* () {
      const data = yield* loadData(catalog, everyModel)
      const providers = [...data.providers.values()]
      const allAccounts = Accounts.simulated(providers, () => "")
      if (everyModel) return Catalog.of(servedCatalog(data, allAccounts))
      const configured = [...(yield* Accounts.configured(providers))].filter(([, { baseUrl }]) => baseUrl !== "")
      return Catalog.of(servedCatalog(data, configured.length === 0 ? allAccounts : new Map(configured)))
    })
  )

/** The catalog given as a file, or else that of the gateway with this environment. */
export const commandCatalog = (file: Option.Option<string>) => loadData(file, false)

const loadData = Effect.fnUntraced(function* (file: Option.Option<string>, ignoreEnvironment: boolean) {
  const files = yield* FileSystem.FileSystem
  if (Option.isSome(file)) {
    const loaded = loadReplacementCatalog(yield* files.readFileString(file.value))
    return yield* Effect.mapError(Effect.fromResult(loaded), inFile(file.value))
  }
  const overlay = ignoreEnvironment ? Option.none() : (yield* settings).catalogFile
  if (Option.isNone(overlay)) return yield* Effect.fromResult(loadCatalog())
  const loaded = loadCatalog(yield* files.readFileString(overlay.value))
  return yield* Effect.mapError(Effect.fromResult(loaded), inFile("CATALOG_FILE"))
})

const inFile =
  (file: string) =>
  ({ message, path }: CatalogError): CatalogError =>
    new CatalogError({ path, message: `${file}: ${message}` })
