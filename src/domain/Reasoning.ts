/**
 * The contract's six reasoning rules as pure functions.
 *
 * A request says how much a model should think in two equivalent ways, `reasoning` and `reasoning_effort`. They become
 * one `Reasoning` here, before anything else looks at the request, and the tier that routing may use follows from it.
 */

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh"] as const
export type Effort = (typeof efforts)[number]

/** What the request asks for. A field is present only when the request determined it. */
export interface Reasoning {
  readonly effort?: Effort
  readonly maxTokens?: number
  readonly enabled?: boolean
  /** Think, but do not return the thinking. */
  readonly exclude: boolean
}

/** How much thinking a candidate must be able to do; models are eligible per tier. */
export type ReasoningTier = "none" | "low" | "high"

export interface ReasoningFields {
  readonly reasoning?: {
    readonly effort?: Effort
    readonly maxTokens?: number
    readonly exclude?: boolean
    readonly enabled?: boolean
  }
  readonly reasoningEffort?: Effort
}

/** Where `max_tokens` alone turns from a little thinking into a lot. */
const highTierFromTokens = 4_096

/**
 * Rules 1 to 6. A pair that is fully omitted means high effort when the request is routed, and stays unset on a direct
 * call; any `reasoning` object counts as present, and wins over `reasoning_effort`.
 */
export const normalise = (fields: ReasoningFields, options: { readonly routed: boolean }): Reasoning | undefined => {
  const { reasoning, reasoningEffort } = fields
  if (reasoning !== undefined) return { ...reasoning, exclude: reasoning.exclude ?? false }
  if (reasoningEffort !== undefined) return { effort: reasoningEffort, exclude: false }
  return options.routed ? { enabled: true, effort: "high", exclude: false } : undefined
}

/** True when the request switched thinking off. */
export const isOptOut = (reasoning: Reasoning | undefined): boolean =>
  reasoning !== undefined && (reasoning.enabled === false || reasoning.effort === "none")

const tierOfEffort = {
  none: "none",
  minimal: "low",
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "high"
} as const satisfies Record<Effort, ReasoningTier>

/** The tier that restricts candidates, or `undefined` when the request leaves the choice open (`{}`, `{exclude}`). */
export const reasoningTierOf = (reasoning: Reasoning | undefined): ReasoningTier | undefined => {
  if (reasoning === undefined) return undefined
  if (isOptOut(reasoning)) return "none"
  if (reasoning.effort !== undefined) return tierOfEffort[reasoning.effort]
  if (reasoning.maxTokens === undefined) return undefined
  if (reasoning.maxTokens === 0) return "none"
  return reasoning.maxTokens < highTierFromTokens ? "low" : "high"
}

/**
 * The nearest level a model supports: the highest at or below the wish, else the lowest above it. `max`, which only
 * models know, counts as the level above `xhigh`. `undefined` when the model knows no levels.
 */
export const nearestEffort = <Level extends string>(
  wish: Effort,
  supported: ReadonlyArray<Level>
): Level | undefined => {
  const order: ReadonlyArray<string> = [...efforts, "max"]
  const known = supported.filter((level) => order.includes(level)).sort((a, b) => order.indexOf(a) - order.indexOf(b))
  const wished = order.indexOf(wish)
  return known.findLast((level) => order.indexOf(level) <= wished) ?? known[0]
}

const effortByShare: ReadonlyArray<readonly [share: number, effort: Effort]> = [
  [0.9, "xhigh"],
  [0.65, "high"],
  [0.35, "medium"],
  [0.15, "low"],
  [0, "minimal"]
]

/** The effort that fits a thinking budget, as a share of everything the model may produce. */
export const effortOfBudget = (budgetTokens: number, outputTokens: number): Effort => {
  if (budgetTokens <= 0) return "none"
  const share = budgetTokens / Math.max(outputTokens, 1)
  return effortByShare.find(([atLeast]) => share >= atLeast)?.[1] ?? "minimal"
}
