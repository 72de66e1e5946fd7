/**
 * Derived profiles in the form of a catalog entry: the levels, and for every one of them either its sources or what it
 * was estimated from. What the estimates do not name was measured.
 */
import type { ModelEntry } from "../../src/catalog/CatalogFile.ts"
import { type Axis, axes, perAxis, type Profile } from "../../src/catalog/Model.ts"
import type { ReasoningTier } from "../../src/domain/Reasoning.ts"
import type { Cells } from "./Derivation.ts"
import { type SourceName, sourceDates } from "./Scale.ts"

export type ProfileFields = Required<Pick<ModelEntry, "profile_sources" | "profile_estimates" | "profiles">>

/** What the entry of a model says of its profiles at the tiers that it serves. */
export const fieldsOf = (cells: Cells, served: ReadonlyArray<ReasoningTier>): ProfileFields => ({
  profile_sources: sourcesOf(cells, served),
  profile_estimates: estimatesOf(cells, served),
  profiles: Object.fromEntries(served.map((tier) => [tier, profileOf(cells[tier])]))
})

const profileOf = (cells: Cells[ReasoningTier]): Profile => perAxis((axis) => Math.round(cells[axis].level * 100) / 100)

const sourcesOf = (cells: Cells, served: ReadonlyArray<ReasoningTier>): ProfileFields["profile_sources"] =>
  Object.entries(sourceDates).flatMap(([name, date]) => {
    // `entries` forgets that these are the names of the sources.
    const isFrom = (tier: ReasoningTier) => axes.some((axis) => cells[tier][axis].sources?.includes(name as SourceName))
    const tiers = served.filter(isFrom)
    return tiers.length === 0 ? [] : [{ name, date, tiers }]
  })

/** Tiers that are estimated on the same axes from the same model stand together. */
const estimatesOf = (cells: Cells, served: ReadonlyArray<ReasoningTier>): ProfileFields["profile_estimates"] => {
  const groups = new Map<string, { tiers: Array<ReasoningTier>; axes: ReadonlyArray<Axis>; from: string | undefined }>()
  for (const tier of served) {
    const open = axes.filter((axis) => cells[tier][axis].sources === undefined)
    for (const from of new Set(open.map((axis) => cells[tier][axis].from))) {
      const group = open.filter((axis) => cells[tier][axis].from === from)
      const key = JSON.stringify([from, group])
      const known = groups.get(key)
      if (known === undefined) groups.set(key, { tiers: [tier], axes: group, from })
      else known.tiers.push(tier)
    }
  }
  return Array.from(groups.values(), ({ axes: group, from, tiers }) => ({
    tiers,
    ...(group.length < axes.length && { axes: group }),
    ...(from !== undefined && { from })
  }))
}
