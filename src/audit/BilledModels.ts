/**
 * Which model of the catalog a line of a bill is for. Bills write the names of snapshots, of what is counted, or of the
 * model for people. A name is understood if it is an upstream or a model of this provider, perhaps after the rules
 * below, and means one model alone; all others are listed as they are.
 */
import type { CatalogData } from "../catalog/CatalogData.ts"
import type { ModelId } from "../domain/Ids.ts"

/** What may follow the name of a model, each with an example. They are taken off in this order, one after the other. */
export const suffixRules: ReadonlyArray<{ readonly suffix: RegExp; readonly example: string }> = [
  { suffix: /,[^,]*$/, example: "gpt-4o-2024-08-06, cached input" },
  { suffix: /:[a-z]+$/, example: "openai/gpt-oss-120b:free" },
  { suffix: /-v\d+:\d+$/, example: "anthropic.claude-haiku-4-5-20251001-v1:0" },
  { suffix: /-20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])$/, example: "claude-sonnet-4-5-20250929" },
  { suffix: /-latest$/, example: "mistral-small-latest" }
]

/** The model of a name in a bill; `undefined` if it is none or not clear. */
export type ModelOfName = (name: string) => ModelId | undefined

/** Longer names are not looked at. */
const maxNameLength = 256

export const billedModels = ({ models }: Pick<CatalogData, "models">, provider: string): ModelOfName => {
  const byName = new Map<string, Set<ModelId>>()
  const add = (name: string, id: ModelId) => byName.set(name, (byName.get(name) ?? new Set()).add(id))
  for (const { endpoints, id } of models.values())
    for (const endpoint of endpoints.filter((one) => one.provider === provider))
      for (const known of [endpoint.upstream, id]) for (const name of namesOf(known)) add(name, id)
  return (name) => {
    if (name.length > maxNameLength) return undefined
    for (const candidate of namesOf(name)) {
      const [model, ...others] = byName.get(candidate) ?? []
      if (model !== undefined) return others.length === 0 ? model : undefined
    }
    return undefined
  }
}

/** The spellings of a name, from the whole one to what is left of it. */
const namesOf = (name: string): ReadonlyArray<string> => {
  const names = [name]
  for (const { suffix } of suffixRules) {
    const shorter = (names.at(-1) ?? "").replace(suffix, "")
    if (shorter !== names.at(-1)) names.push(shorter)
  }
  const spelled = names.map(spellingOf)
  // Behind the vendor, as in `anthropic/claude-opus-4.7`.
  return [...spelled, ...spelled.map((one) => one.slice(one.lastIndexOf("/") + 1))]
}

/** Models for people are `Claude Opus 4.6`, and services write `4.6` or `4-6`. */
const spellingOf = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replaceAll(/[ ._]+/g, "-")
