/**
 * The models this gateway serves. Built once at start from the shipped data, the operator's `CATALOG_FILE` and the
 * providers that are switched on; a fault in any entry stops the start with the path of the fault. Never fetched.
 */
import { Context } from "effect"

import type { ModelId, ProviderId } from "../domain/Ids.ts"
import type { Model } from "./Model.ts"
import type { Account } from "./Provider.ts"

export type Lookup =
  | { readonly _tag: "Served"; readonly model: Model }
  /** In the catalog, but no provider that serves it is switched on; `variables` would switch one on. */
  | { readonly _tag: "Unserved"; readonly variables: ReadonlyArray<string> }
  | { readonly _tag: "Unknown" }

export class Catalog extends Context.Service<
  Catalog,
  {
    /** Identifies the prices and models in force: the first 12 hex digits of a hash of the merged data. */
    readonly version: string
    /** Models with at least one endpoint whose provider is switched on, ordered by id. */
    readonly models: ReadonlyArray<Model>
    readonly lookup: (id: string) => Lookup
    readonly account: (provider: ProviderId) => Account | undefined
    /** Ids of all models known, served or not. */
    readonly known: ReadonlyArray<ModelId>
  }
>()("tollgate/catalog/Catalog") {}
