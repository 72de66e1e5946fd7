/** What routers are measured by. Pure functions of what was predicted and what came out. */

/** One prompt: what the router thinks a strong model gains on it, and how a strong and a weak model did. */
export interface Outcome {
  readonly score: number
  readonly strong: number
  readonly weak: number
}

/**
 * Average performance gap recovered: over all shares of prompts sent to the strong model, highest scores first, the
 * mean share of its advantage that is kept. 0.5 is what a router without knowledge gets; equal scores count as
 * shuffled.
 */
export const gapRecovered = (outcomes: ReadonlyArray<Outcome>): number => {
  const total = sum(outcomes.map(({ strong, weak }) => strong - weak))
  const sorted = outcomes.toSorted((a, b) => b.score - a.score)
  let [recovered, area, from] = [0, 0, 0]
  while (from < sorted.length) {
    let to = from
    let gain = 0
    for (; to < sorted.length && sorted[to]?.score === sorted[from]?.score; to++) {
      gain += (sorted[to]?.strong ?? 0) - (sorted[to]?.weak ?? 0)
    }
    // Trapezoids: within equal scores the gain grows evenly.
    area += (to - from) * (recovered + gain / 2)
    recovered += gain
    from = to
  }
  return area / (total * sorted.length)
}

export interface Accuracies {
  readonly alwaysStrong: number
  readonly alwaysWeak: number
  /** Half of the prompts to the strong model, by chance. */
  readonly random: number
  /** The half of the prompts with the highest scores to the strong model. */
  readonly router: number
  /** The half of the prompts that gain most to the strong model. */
  readonly oracle: number
}

export const accuraciesOf = (outcomes: ReadonlyArray<Outcome>): Accuracies => {
  const alwaysStrong = mean(outcomes.map(({ strong }) => strong))
  const alwaysWeak = mean(outcomes.map(({ weak }) => weak))
  const half = (sorted: ReadonlyArray<Outcome>): number =>
    mean(sorted.map(({ strong, weak }, index) => (index * 2 < sorted.length ? strong : weak)))
  return {
    alwaysStrong,
    alwaysWeak,
    random: (alwaysStrong + alwaysWeak) / 2,
    router: half(outcomes.toSorted((a, b) => b.score - a.score)),
    oracle: half(outcomes.toSorted((a, b) => b.strong - b.weak - (a.strong - a.weak)))
  }
}

/** How often one of `higher` is above one of `lower`; a tie counts half. 0.5 is chance. */
export const areaUnderCurve = (higher: ReadonlyArray<number>, lower: ReadonlyArray<number>): number =>
  mean(higher.flatMap((high) => lower.map((low) => (high > low ? 1 : high === low ? 0.5 : 0))))

/** One prompt as several models answered it. */
export interface Offers {
  /** Per model: what the router thinks it lacks, how it did, and what it cost. */
  readonly models: ReadonlyArray<{ readonly distance: number; readonly score: number; readonly cost: number }>
}

/** Prices that a unit of distance is worth, from nothing to everything, in the unit of costs. */
const prices = (most: number): ReadonlyArray<number> =>
  Array.from({ length: 61 }, (_, step) => (step === 0 ? 0 : most * 10 ** ((step - 40) / 10)))

/**
 * Average improvement in quality: the mean quality of the best mixtures of routing policies, over all mean costs from
 * the cheapest policy to that of the dearest model. A policy takes the model with the least distance times a price
 * plus cost.
 */
export const qualityOverCost = (prompts: ReadonlyArray<Offers>): number => {
  const count = prompts[0]?.models.length ?? 0
  const meanCosts = Array.from({ length: count }, (_, model) =>
    mean(prompts.map(({ models }) => models[model]?.cost ?? 0))
  )
  const dearest = Math.max(...meanCosts)
  const points = prices(dearest * 100).map((price) => {
    const chosen = prompts.flatMap(
      ({ models }) => models.toSorted((a, b) => a.distance * price + a.cost - (b.distance * price + b.cost))[0] ?? []
    )
    return [mean(chosen.map(({ cost }) => cost)), mean(chosen.map(({ score }) => score))] as const
  })
  return areaUnderHull(points, dearest)
}

type Point = readonly [cost: number, quality: number]

/** Mean height of the upper hull, made non-decreasing, from the cheapest point to `to`. */
const areaUnderHull = (points: ReadonlyArray<Point>, to: number): number => {
  const hull: Array<Point> = []
  for (const point of points.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (point[1] <= (hull.at(-1)?.[1] ?? -Infinity)) continue
    for (let [a, b] = [hull.at(-2), hull.at(-1)]; a && b && above(a, b, point); [a, b] = [hull.at(-2), hull.at(-1)]) {
      hull.pop()
    }
    hull.push(point)
  }
  const ends = [...hull, [to, hull.at(-1)?.[1] ?? 0] as const]
  const from = ends[0]?.[0] ?? 0
  const area = sum(
    ends.slice(1).map(([cost, quality], at) => ((cost - (ends[at]?.[0] ?? 0)) * (quality + (ends[at]?.[1] ?? 0))) / 2)
  )
  return area / (to - from)
}

/** Whether the way from `a` to `c` passes above `b`. */
const above = (a: Point, b: Point, c: Point): boolean => (c[1] - a[1]) * (b[0] - a[0]) >= (b[1] - a[1]) * (c[0] - a[0])

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

export const mean = (values: ReadonlyArray<number>): number => sum(values) / values.length

/** The value below which `share` of the values lie. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
