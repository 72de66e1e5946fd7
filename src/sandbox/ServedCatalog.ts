/**
 * The catalog with the provider accounts that the environment switches on. When it switches on none, the sandbox stands
 * in for every provider, so that a first start needs no key; it is never mixed with real providers.
 */
import { Context, Effect, FileSystem, Layer, Option, type PlatformError } from "effect"

import { Catalog, loadCatalog } from "../catalog/Catalog.ts"
import { CatalogError } from "../catalog/CatalogFile.ts"
import * as Accounts from "../catalog/ProviderAccounts.ts"
import { Sandbox } from "./Sandbox.ts"

/** Whether the sandbox stands in for every provider. */
export class SandboxMode extends Context.Service<SandboxMode, { readonly isOn: boolean }>()(
  "tollgate/sandbox/SandboxMode"
) {}

/** Reads the operator's `CATALOG_FILE`, if there is one, and the variables of every provider in the catalog. */
export const servedCatalogLayer = ({ catalogFile }: { readonly catalogFile: Option.Option<string> }) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const overlay = Option.isNone(catalogFile)
        ? undefined
        : yield* Effect.mapError(files.readFileString(catalogFile.value), unreadable(catalogFile.value))
      const assembly = yield* Effect.mapError(Effect.fromResult(loadCatalog(overlay)), namingVariable)
      const providers = [...assembly.providers.values()]
      const configured = yield* Accounts.configured(providers)
      const catalogOf = (accounts: Accounts.ProviderAccounts) =>
        Catalog.layer({ overlay, account: (provider) => Effect.succeed(accounts.get(provider.id)) })
      const isOn = configured.size === 0
      const catalog = isOn
        ? Layer.unwrap(
            Effect.map(Sandbox, ({ baseUrlFor }) => catalogOf(Accounts.simulated(providers, baseUrlFor)))
          ).pipe(Layer.provide(Sandbox.layer))
        : catalogOf(configured)
      return Layer.merge(catalog, Layer.succeed(SandboxMode, { isOn }))
    })
  )

/** Without the system's own message, which has the call and the path again. */
const unreadable = (path: string) => (error: PlatformError.PlatformError) =>
  new CatalogError({
    path: "",
    message:
      `CATALOG_FILE: ${path} ${error.reason._tag === "NotFound" ? "does not exist" : "cannot be read"}. ` +
      "Set it to the path of a JSON file, or unset it"
  })

/** Only the operator's file can be at fault, because the tests load the shipped catalog. */
const namingVariable = ({ message, path }: CatalogError) =>
  new CatalogError({ path, message: `CATALOG_FILE: ${message}` })
