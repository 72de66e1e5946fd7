/** The tables of `docs/choices.md`: the members that choose models and providers, and what is known of providers. */
import { Result } from "effect"

import { loadCatalog } from "../../src/catalog/Catalog.ts"
import type { Provider } from "../../src/catalog/Provider.ts"
import { publishedApi } from "../../src/http/reference/PublishedApi.ts"

interface Described {
  readonly description?: string
  readonly properties?: { readonly [name: string]: Described }
  readonly anyOf?: ReadonlyArray<Described>
}

const membersOf = (schema: Described): { readonly [name: string]: Described } =>
  schema.properties ?? schema.anyOf?.find(({ properties }) => properties !== undefined)?.properties ?? {}

/** A row for each member of the request that chooses, and for the members of those that are objects. */
export const choiceRows = (): ReadonlyArray<ReadonlyArray<string>> => {
  const request = publishedApi("svc").components.schemas["ChatCompletionRequest"] as Described
  const rowsOf = (path: string, schema: Described): ReadonlyArray<ReadonlyArray<string>> => {
    const members = Object.entries(membersOf(schema)).filter(([, { description }]) => description !== undefined)
    if (members.length === 0) return [[`\`${path}\``, schema.description ?? ""]]
    return members.flatMap(([name, member]) => rowsOf(`${path}.${name}`, member))
  }
  return ["models", "provider", "svc"].flatMap((name) => rowsOf(name, membersOf(request)[name] ?? {}))
}

const trainingCell = ({ dataPolicy }: Provider): string =>
  dataPolicy?.mayTrain === undefined ? "not known" : dataPolicy.mayTrain ? "may train" : "does not train"

const retentionCell = ({ dataPolicy }: Provider): string => {
  const days = dataPolicy?.retentionDays
  return days === undefined ? "not known" : days === 0 ? "nothing is kept" : `up to ${days} days`
}

/** A row for each provider of the shipped catalog. */
export const dataPolicyRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from(Result.getOrThrow(loadCatalog()).providers.values(), (provider) => [
    `\`${provider.id}\``,
    trainingCell(provider),
    retentionCell(provider)
  ])
