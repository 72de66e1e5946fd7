/** What scenarios report: one value of each figure per alternation, and the statistics over them. */

/** What a figure has to reach at its median. */
export interface Goal {
  readonly atMost?: number
  readonly atLeast?: number
}

export interface Figure {
  readonly scenario: string
  /** With its unit, unless it is a ratio. */
  readonly figure: string
  /** One for each alternation; figures that are measured once have one. */
  readonly values: ReadonlyArray<number>
  readonly goal?: Goal
}

export interface Summary {
  readonly median: number
  readonly least: number
  readonly most: number
}

const sorted = (values: ReadonlyArray<number>): ReadonlyArray<number> => values.toSorted((a, b) => a - b)

/** The middle value, or the mean of the two in the middle; not a number for no values. */
export const medianOf = (values: ReadonlyArray<number>): number => {
  const all = sorted(values)
  const half = Math.floor(all.length / 2)
  const upper = all[half] ?? Number.NaN
  return all.length % 2 === 1 ? upper : ((all[half - 1] ?? Number.NaN) + upper) / 2
}

export const summaryOf = (values: ReadonlyArray<number>): Summary => ({
  median: medianOf(values),
  least: Math.min(...values),
  most: Math.max(...values)
})

/** What each value is of the one beside it. */
export const ratiosOf = (values: ReadonlyArray<number>, to: ReadonlyArray<number>): ReadonlyArray<number> =>
  values.map((value, index) => value / (to[index] ?? Number.NaN))

/** What each value is above the one beside it. */
export const differencesOf = (values: ReadonlyArray<number>, to: ReadonlyArray<number>): ReadonlyArray<number> =>
  values.map((value, index) => value - (to[index] ?? Number.NaN))

export interface Line {
  /** By how much y grows with 1 of x. */
  readonly slope: number
  /** The standard deviation of the points from the line. */
  readonly noise: number
}

/** The straight line through points by least squares; not a number through fewer than three. */
export const lineThrough = (points: ReadonlyArray<readonly [x: number, y: number]>): Line => {
  if (points.length < 3) return { slope: Number.NaN, noise: Number.NaN }
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [meanX, meanY] = [mean(([x]) => x), mean(([, y]) => y)]
  const variance = mean(([x]) => (x - meanX) ** 2)
  const slope = mean(([x, y]) => (x - meanX) * (y - meanY)) / variance
  const residual = mean(([x, y]) => (y - meanY - slope * (x - meanX)) ** 2)
  return { slope, noise: Math.sqrt((residual * points.length) / (points.length - 2)) }
}

export const isReached = (median: number, { atLeast, atMost }: Goal): boolean =>
  (atLeast === undefined || median >= atLeast) && (atMost === undefined || median <= atMost)

const written = (value: number): string => {
  if (!Number.isFinite(value)) return "unknown"
  return Math.abs(value) >= 100 ? String(Math.round(value)) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

const writtenGoal = (median: number, goal: Goal): string => {
  const bounds = [
    ...(goal.atLeast === undefined ? [] : [`at least ${goal.atLeast}`]),
    ...(goal.atMost === undefined ? [] : [`at most ${goal.atMost}`])
  ]
  return `${isReached(median, goal) ? "reached" : "missed"}: ${bounds.join(" and ")}`
}

/** A row of the table that is printed. */
export const rowOf = ({ figure, goal, scenario, values }: Figure): Readonly<Record<string, string>> => {
  const { least, median, most } = summaryOf(values)
  return {
    scenario,
    figure,
    median: written(median),
    "from … to": values.length < 2 ? "" : `${written(least)} … ${written(most)}`,
    goal: goal === undefined ? "" : writtenGoal(median, goal)
  }
}
