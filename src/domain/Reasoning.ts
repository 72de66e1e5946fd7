/**
 * The six rules of the API about reasoning, as pure functions.
 *
 * A request states how much a model should think in two equivalent ways, `reasoning` and `reasoning_effort`. They
 * become one `Reasoning` here before anything else looks at the request, and the tier for routing follows from it.
 */

/** The levels of effort that a client can request, in ascending order. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh"] as const
export type Effort = (typeof efforts)[number]

/** What the client requested. A field is present only if the request determines it. */
export interface Reasoning {
  readonly effort?: Effort
  /** A thinking budget in tokens. */
  readonly maxTokens?: number
  readonly enabled?: boolean
  /** The model thinks, but its thinking is not returned. */
  readonly exclude: boolean
}

/** How much thinking a candidate must be able to do. A model is eligible for each tier separately. */
export type ReasoningTier = "none" | "low" | "high"

/** The two fields of a request, with the names of this code. */
export interface ReasoningFields {
  readonly reasoning?: {
    readonly effort?: Effort
    readonly maxTokens?: number
    readonly exclude?: boolean
    readonly enabled?: boolean
  }
  readonly reasoningEffort?: Effort
}

/** The smallest `max_tokens`, given alone, that means the high tier. */
const highTierFromTokens = 4_096

/**
 * Rules 1 to 6. If both fields are omitted, a routed request gets high effort and a direct call leaves reasoning unset.
 * Any `reasoning` object counts as present and takes precedence over `reasoning_effort`.
 */
export const normalise = (fields: ReasoningFields, options: { readonly routed: boolean }): Reasoning | undefined => {
  const { reasoning, reasoningEffort } = fields
  if (reasoning !== undefined) return { ...reasoning, exclude: reasoning.exclude ?? false }
  if (reasoningEffort !== undefined) return { effort: reasoningEffort, exclude: false }
  return options.routed ? { enabled: true, effort: "high", exclude: false } : undefined
}

/** True when the request switched thinking off. A budget of no tokens does so as well, unless there is an effort. */
export const isOptOut = (reasoning: Reasoning | undefined): boolean =>
  reasoning !== undefined &&
  (reasoning.enabled === false || (reasoning.effort ?? (reasoning.maxTokens === 0 ? "none" : undefined)) === "none")

const tierOfEffort = {
  none: "none",
  minimal: "low",
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "high"
} as const satisfies Record<Effort, ReasoningTier>

/** The tier that candidates must serve, or `undefined` if the request leaves it open (`{}`, `{exclude}`). */
export const reasoningTierOf = (reasoning: Reasoning | undefined): ReasoningTier | undefined => {
  if (reasoning === undefined) return undefined
  if (isOptOut(reasoning)) return "none"
  if (reasoning.effort !== undefined) return tierOfEffort[reasoning.effort]
  return reasoning.maxTokens === undefined ? undefined : tierOfBudget(reasoning.maxTokens)
}

/** The tier of a budget above zero. */
const tierOfBudget = (tokens: number): "low" | "high" => (tokens < highTierFromTokens ? "low" : "high")

/** The levels in ascending order. Only models know `max`. */
const order: ReadonlyArray<string> = [...efforts, "max"]

/** The levels that belong to a tier, in ascending order. */
const levelsOfTier = {
  none: ["none"],
  low: ["minimal", "low"],
  high: ["medium", "high", "xhigh", "max"]
} as const satisfies Record<ReasoningTier, ReadonlyArray<string>>

/** Tokens that are kept for the visible answer beside a thinking budget. */
export const answerTokens = 1_024

/** True when some level of `supported` belongs to the tier. */
export const hasLevelIn = (tier: ReasoningTier, supported: ReadonlyArray<string>): boolean =>
  levelsOfTier[tier].some((level) => supported.includes(level))

/** True when a thinking budget from `min` to `max` tokens reaches into the tier. */
export const hasBudgetIn = (tier: ReasoningTier, { max, min }: { readonly min: number; readonly max: number }) =>
  tier === "none" || (tier === "low" ? min < highTierFromTokens : max >= highTierFromTokens)

/**
 * The level nearest to `requested` that a model supports. A level of the same tier comes first, because the tier is
 * what models are chosen by. Among equals it is the highest at or below the requested one, or else the lowest above it.
 * `max` counts as the level above `xhigh`. `undefined` if the model knows no levels.
 */
export const nearestEffort = <Level extends string>(
  requested: Effort,
  supported: ReadonlyArray<Level>
): Level | undefined => {
  const known = supported.filter((level) => order.includes(level)).sort((a, b) => order.indexOf(a) - order.indexOf(b))
  const tier: ReadonlyArray<string> = levelsOfTier[tierOfEffort[requested]]
  const limit = order.indexOf(requested)
  const nearest = (levels: ReadonlyArray<Level>): Level | undefined =>
    levels.findLast((level) => order.indexOf(level) <= limit) ?? levels[0]
  return nearest(known.filter((level) => tier.includes(level))) ?? nearest(known)
}

/** How many levels lie between two of them; 0 for the same one. */
export const levelsApart = (one: string, other: string): number => Math.abs(order.indexOf(one) - order.indexOf(other))

const effortByShare: ReadonlyArray<readonly [share: number, effort: Effort]> = [
  [0.9, "xhigh"],
  [0.65, "high"],
  [0.35, "medium"],
  [0.15, "low"],
  [0, "minimal"]
]

/**
 * The effort that corresponds to a thinking budget, by its share of the tokens that the model may produce. It never
 * leaves the tier of the budget, by which the model was chosen: 1,500 tokens are little thought, however few tokens the
 * answer may have.
 */
export const effortOfBudget = (budgetTokens: number, outputTokens: number): Effort => {
  if (budgetTokens <= 0) return "none"
  const share = budgetTokens / Math.max(outputTokens, 1)
  const effort = effortByShare.find(([atLeast]) => share >= atLeast)?.[1] ?? "minimal"
  const tier = tierOfBudget(budgetTokens)
  if (tierOfEffort[effort] === tier) return effort
  return tier === "low" ? "low" : "medium"
}
