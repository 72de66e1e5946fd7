/** Metrics of routers: pure functions of predictions and outcomes. */

/** The scores of two models on one prompt, and that of the router: higher where a strong model should gain more. */
export interface Outcome {
  readonly score: number
  readonly strong: number
  readonly weak: number
}

/**
 * Average performance gap recovered (APGR): the share of the strong model's advantage that is kept, averaged over all
 * shares of prompts that are sent to the strong model, highest scores first. A random router gets 0.5. Prompts with
 * equal scores count as if they were in random order.
 */
export const averageGapRecovered = (outcomes: ReadonlyArray<Outcome>): number => {
  const total = sum(outcomes.map(({ strong, weak }) => strong - weak))
  const sorted = outcomes.toSorted((a, b) => b.score - a.score)
  let [recovered, area, from] = [0, 0, 0]
  while (from < sorted.length) {
    let to = from
    let gain = 0
    for (; to < sorted.length && sorted[to]?.score === sorted[from]?.score; to++) {
      gain += (sorted[to]?.strong ?? 0) - (sorted[to]?.weak ?? 0)
    }
    // A trapezoid: among equal scores the gain grows linearly.
    area += (to - from) * (recovered + gain / 2)
    recovered += gain
    from = to
  }
  return area / (total * sorted.length)
}

/** Mean scores when prompts are divided between a strong and a weak model in different ways. */
export interface Accuracies {
  readonly alwaysStrong: number
  readonly alwaysWeak: number
  /** A random half of the prompts goes to the strong model. */
  readonly random: number
  /** The half of the prompts with the highest scores goes to the strong model. */
  readonly router: number
  /** The half of the prompts on which the strong model gains most goes to it. */
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

/** The probability that one of `higher` is above one of `lower`, where a tie counts half. 0.5 is chance. */
export const areaUnderCurve = (higher: ReadonlyArray<number>, lower: ReadonlyArray<number>): number =>
  mean(higher.flatMap((high) => lower.map((low) => (high > low ? 1 : high === low ? 0.5 : 0))))

/** One prompt that several models answered. */
export interface PricedPrompt {
  /** Per model: its distance as the router sees it, its score, and its cost. In the same order for every prompt. */
  readonly models: ReadonlyArray<{ readonly distance: number; readonly score: number; readonly cost: number }>
}

/** What a unit of distance is worth, in the unit of costs, from nothing to far more than any cost. */
const pricesOfDistance = (most: number): ReadonlyArray<number> =>
  Array.from({ length: 61 }, (_, step) => (step === 0 ? 0 : most * 10 ** ((step - 40) / 10)))

/**
 * Average improvement in quality (AIQ): the quality of the best mixtures of routing policies, averaged over all mean
 * costs from that of the cheapest policy to that of the most expensive model. A policy sets a price on distance and
 * takes the model with the lowest sum of priced distance and cost.
 */
export const qualityOverCost = (prompts: ReadonlyArray<PricedPrompt>): number => {
  const count = prompts[0]?.models.length ?? 0
  const meanCosts = Array.from({ length: count }, (_, model) =>
    mean(prompts.map(({ models }) => models[model]?.cost ?? 0))
  )
  const highestCost = Math.max(...meanCosts)
  const points = pricesOfDistance(highestCost * 100).map((price) => {
    const chosen = prompts.flatMap(
      ({ models }) => models.toSorted((a, b) => a.distance * price + a.cost - (b.distance * price + b.cost))[0] ?? []
    )
    return [mean(chosen.map(({ cost }) => cost)), mean(chosen.map(({ score }) => score))] as const
  })
  return areaUnderHull(points, highestCost)
}

type Point = readonly [cost: number, quality: number]

/** The mean height of the non-decreasing upper hull between the cheapest point and `to`. */
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

/** Whether the line from `a` to `c` passes above `b`. */
const above = (a: Point, b: Point, c: Point): boolean => (c[1] - a[1]) * (b[0] - a[0]) >= (b[1] - a[1]) * (c[0] - a[0])

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

export const mean = (values: ReadonlyArray<number>): number => sum(values) / values.length

/** The value below which `share` of the values lie. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
