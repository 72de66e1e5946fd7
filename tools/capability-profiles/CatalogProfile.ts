/**
 * Derived profiles in the form of a catalog entry: the levels, and for every level either its sources or what it was
 * estimated from. A level that no estimate names was measured.
 */
import type { ModelEntry } from "../../src/catalog/CatalogFile.ts"
import { type Axis, axes, perAxis, type Profile } from "../../src/catalog/Model.ts"
import type { ReasoningTier } from "../../src/domain/Reasoning.ts"
import { sourceNames, sources } from "./Figures.ts"
import type { DerivedProfiles } from "./ProfileDerivation.ts"

export type ProfileFields = Required<Pick<ModelEntry, "profile_sources" | "profile_estimates" | "profiles">>

/** The fields about profiles of a catalog entry, for the tiers that the model serves. */
export const profileFieldsOf = (derived: DerivedProfiles, served: ReadonlyArray<ReasoningTier>): ProfileFields => ({
  profile_sources: sourcesOf(derived, served),
  profile_estimates: estimatesOf(derived, served),
  profiles: Object.fromEntries(served.map((tier) => [tier, roundedProfile(derived[tier])]))
})

const roundedProfile = (derived: DerivedProfiles[ReasoningTier]): Profile =>
  perAxis((axis) => Math.round(derived[axis].level * 100) / 100)

const sourcesOf = (derived: DerivedProfiles, served: ReadonlyArray<ReasoningTier>): ProfileFields["profile_sources"] =>
  sourceNames.flatMap((name) => {
    const uses = (tier: ReasoningTier) => axes.some((axis) => derived[tier][axis].sources?.includes(name))
    const tiers = served.filter(uses)
    return tiers.length === 0 ? [] : [{ name, date: sources[name].date, tiers }]
  })

/** Tiers with estimates on the same axes from the same model are combined into one entry. */
const estimatesOf = (
  derived: DerivedProfiles,
  served: ReadonlyArray<ReasoningTier>
): ProfileFields["profile_estimates"] => {
  const groups = new Map<string, { tiers: Array<ReasoningTier>; axes: ReadonlyArray<Axis>; from: string | undefined }>()
  for (const tier of served) {
    const estimated = axes.filter((axis) => derived[tier][axis].sources === undefined)
    for (const from of new Set(estimated.map((axis) => derived[tier][axis].from))) {
      const group = estimated.filter((axis) => derived[tier][axis].from === from)
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
