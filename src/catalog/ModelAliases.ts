/**
 * Names under which other services offer a model of the catalog: `openai/gpt-5-mini`, `anthropic/claude-sonnet-4.6`,
 * `gpt-4o-2024-08-06`, or the name of an upstream. A name is understood only if it can mean one model alone. The id of
 * a model always means that model.
 */
import type { ModelId } from "../domain/Ids.ts"
import type { Model } from "./Model.ts"

/** The id that a name, which is not itself an id, stands for; `undefined` if it stands for none or for several. */
export type ResolveAlias = (name: string) => ModelId | undefined

/** Longer names are not looked at. */
const maxNameLength = 256

/** Prepares the resolution for the models of a catalog. */
export const modelAliases = (models: ReadonlyMap<string, Model>): ResolveAlias => {
  const bySpelling = new Map<string, Array<Model>>()
  const byUpstream = new Map<string, Set<Model>>()
  for (const model of models.values()) {
    const spelling = spellingOf(model.id)
    bySpelling.set(spelling, [...(bySpelling.get(spelling) ?? []), model])
    for (const { upstream } of model.endpoints) {
      byUpstream.set(upstream, (byUpstream.get(upstream) ?? new Set()).add(model))
    }
  }
  const resolve = (name: string): ModelId | undefined => {
    const upstream = onlyOne([...(byUpstream.get(name) ?? [])])
    if (upstream !== undefined) return upstream
    const slash = name.indexOf("/")
    if (slash <= 0) return models.get(name)?.id
    const [vendor, rest] = [name.slice(0, slash), name.slice(slash + 1)]
    return onlyOne((bySpelling.get(spellingOf(rest)) ?? []).filter((model) => isFrom(model, vendor)))
  }
  return (name) => {
    if (name.length > maxNameLength) return undefined
    const undated = name.replace(date, "")
    return resolve(name) ?? (undated === name ? undefined : resolve(undated))
  }
}

/** The date at the end of a snapshot's name, as OpenAI (`-2024-08-06`) and Anthropic (`-20250929`) write it. */
const date = /-20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/

/** Behind a vendor, services differ in case, and in whether they write `4.6` or `4-6`. */
const spellingOf = (id: string): string => id.toLowerCase().replaceAll(".", "-")

const onlyOne = (models: ReadonlyArray<Model>): ModelId | undefined => (models.length === 1 ? models[0]?.id : undefined)

/** True if the vendor made the model or serves it. Vendors have several names: `mistral` and `mistralai`, `x-ai`. */
const isFrom = ({ endpoints, ownedBy }: Model, vendor: string): boolean => {
  const asked = lettersOf(vendor)
  return [ownedBy, ...endpoints.map(({ provider }) => String(provider))].some((name) => {
    const known = lettersOf(name)
    return asked.length >= 3 && known.length >= 3 && (known.startsWith(asked) || asked.startsWith(known))
  })
}

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
