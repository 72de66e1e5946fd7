/**
 * Orders scored models in bands of equal quality, within which the cheaper one comes first. How wide a band is decides
 * the trade between cost and quality.
 */
import type { Model } from "../catalog/Model.ts"
import type { Picodollars } from "../domain/Money.ts"
import { balanced } from "./RoutingRequest.ts"

export interface Candidate {
  readonly model: Model
  /**
   * How far the model is expected to fall short of the demand; 0 for a model with every skill at 1. Skill above the
   * demand lowers the distance too, but by less. Without a demand: how far its mean skill is below `multimodalLevel`.
   */
  readonly distance: number
  /** What the model would not do as it was asked; 0 when nothing. Candidates with fewer deviations come first. */
  readonly deviations: number
  /** Candidates of one band are equally good; within it the cheaper one comes first. 0 is the best band. */
  readonly band: number
  /** Expected cost of this request. */
  readonly cost: Picodollars
}

/** `calibratedDistance` is measured from the calibrated demand and decides the band. */
export type Scored = Omit<Candidate, "band"> & { readonly calibratedDistance: number }

/** Distances this close count as equal, since neither predictions nor profiles are more precise. */
export const bandWidth = 0.03

/**
 * The width of the bands of a request: any distance at 0, `bandWidth` in the middle and nothing at 1, so that only
 * models that are exactly as good are compared by cost. The narrower the first band, the fewer models it has, all of
 * them also in the wider ones: its cheapest model is never worse for it, and never cheaper.
 */
export const bandWidthAt = (costQuality: number = balanced): number =>
  costQuality > 0 ? Math.min(bandWidth * ((1 - costQuality) / costQuality), Number.MAX_VALUE) : Number.MAX_VALUE

/**
 * Forms bands from the best model down: a band holds the models within `width` of its first, and the next model
 * begins the next band. Models that deviate more from what was asked are in later bands. Within a band the order is by
 * cost, then by id.
 */
export const inBands = (candidates: ReadonlyArray<Scored>, width: number): ReadonlyArray<Candidate> => {
  const byDistance = candidates.toSorted(
    (a, b) =>
      a.deviations - b.deviations || a.calibratedDistance - b.calibratedDistance || compareText(a.model.id, b.model.id)
  )
  let band = -1
  let bandStart = -Infinity
  let deviations = 0
  const banded = byDistance.map(({ calibratedDistance, ...candidate }): Candidate => {
    if (calibratedDistance - bandStart > width || candidate.deviations > deviations) {
      band++
      deviations = candidate.deviations
      bandStart = calibratedDistance
    }
    return { ...candidate, band }
  })
  return banded.sort((a, b) => a.band - b.band || compareMoney(a.cost, b.cost) || compareText(a.model.id, b.model.id))
}

const compareMoney = (a: Picodollars, b: Picodollars): number => (a < b ? -1 : a > b ? 1 : 0)

export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
