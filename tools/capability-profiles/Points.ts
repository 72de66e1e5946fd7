/**
 * The fixed reference points: which level of capability, from 0 to 1, a published figure stands for.
 *
 * A level never depends on which models are in the catalog, so adding or removing one moves no other. The best models
 * measured by July 2026 lie near 0.95, which leaves room above them; one of 8 billion parameters of 2024 lies near 0.1.
 * LiveBench sets the scale, and the points of the others were placed so that models measured by both come out alike on
 * average. Figures are percentages, save the ratings of LMArena.
 */

/** Levels by figure. Between two points the level is linear, beyond the first and the last it stays. */
export type Points = { readonly [figure: number]: number }

/** The categories of LiveBench, and of some the single tasks. */
export const livebench = {
  coding: { 40: 0.05, 55: 0.2, 65: 0.42, 72: 0.62, 78: 0.8, 84: 0.95 },
  agentic: { 0: 0.1, 15: 0.3, 30: 0.48, 45: 0.65, 60: 0.83, 75: 0.97 },
  math: { 10: 0.03, 40: 0.25, 60: 0.48, 75: 0.66, 85: 0.8, 92: 0.9, 98: 0.97 },
  reasoning: { 5: 0.03, 20: 0.18, 35: 0.33, 50: 0.48, 65: 0.64, 75: 0.75, 83: 0.85, 90: 0.94 },
  instruction: { 5: 0.1, 15: 0.22, 27: 0.38, 40: 0.5, 55: 0.65, 65: 0.8, 75: 0.92, 85: 0.98 },
  data: { 20: 0.05, 38: 0.25, 45: 0.4, 52: 0.52, 60: 0.62, 70: 0.75, 78: 0.87, 84: 0.96 },
  language: { 20: 0.08, 35: 0.25, 48: 0.38, 58: 0.5, 67: 0.62, 75: 0.75, 82: 0.86, 88: 0.95 },
  plots: { 12: 0.08, 20: 0.18, 31: 0.32, 40: 0.45, 50: 0.6, 60: 0.75, 70: 0.88, 80: 0.97 },
  stories: { 10: 0.15, 25: 0.36, 40: 0.5, 55: 0.64, 70: 0.83, 80: 0.94 },
  minds: { 10: 0.08, 25: 0.22, 45: 0.42, 60: 0.6, 75: 0.78, 88: 0.94 },
  summaries: { 10: 0.15, 25: 0.35, 45: 0.53, 60: 0.7, 75: 0.9 }
} satisfies Record<string, Points>

/**
 * Ratings of LMArena. In one category the same models rate higher or lower than in another by a constant, which
 * `Scale.ts` adds.
 */
export const votes: Points = {
  950: 0,
  1100: 0.03,
  1190: 0.09,
  1270: 0.18,
  1320: 0.28,
  1365: 0.4,
  1410: 0.55,
  1455: 0.71,
  1500: 0.84,
  1540: 0.93
}

/** Single benchmarks, whoever publishes them. */
export const benchmarks = {
  aiderPolyglot: { 0: 0.05, 10: 0.18, 25: 0.25, 40: 0.33, 55: 0.48, 70: 0.58, 80: 0.66, 90: 0.76 },
  codingIndex: { 3: 0.08, 10: 0.22, 16: 0.28, 22: 0.4, 30: 0.57, 40: 0.72 },
  liveCode: { 45: 0.3, 60: 0.42, 67: 0.5, 80: 0.63, 88: 0.73 },
  aime2025: { 5: 0.13, 25: 0.27, 50: 0.43, 72: 0.53, 85: 0.62, 95: 0.77 },
  gpqa: { 28: 0.05, 40: 0.13, 50: 0.21, 65: 0.34, 73: 0.44, 80: 0.53, 86: 0.66, 92: 0.8 },
  mmluPro: { 40: 0.06, 60: 0.13, 69: 0.2, 76: 0.3, 82: 0.5, 85: 0.63, 88: 0.75 },
  simpleQa: { 5: 0.12, 12: 0.2, 27: 0.42, 48: 0.68, 54: 0.75, 70: 0.9 },
  mmmlu: { 60: 0.08, 70: 0.17, 79: 0.28, 83: 0.38, 87: 0.48, 90: 0.62 },
  functionCalling: { 10: 0.05, 25: 0.15, 37: 0.25, 50: 0.4, 56: 0.48, 63: 0.56, 70: 0.67, 78: 0.85 },
  bashOnly: { 5: 0.1, 20: 0.25, 35: 0.41, 45: 0.5, 58: 0.62, 66: 0.73, 75: 0.85 },
  sweVerified: { 9: 0.1, 33: 0.28, 54: 0.46, 60: 0.52, 70: 0.63, 75: 0.7, 80: 0.79, 86: 0.9 },
  swePro: { 5: 0.2, 20: 0.42, 40: 0.63, 50: 0.73, 60: 0.84, 70: 0.94 },
  terminal: { 40: 0.5, 60: 0.72, 70: 0.83, 80: 0.94 },
  terminalHard: { 3: 0.15, 8: 0.25, 15: 0.41, 19: 0.5, 25: 0.58, 30: 0.65, 38: 0.74 },
  retail: { 20: 0.15, 50: 0.28, 60: 0.36, 68: 0.44, 72: 0.5, 80: 0.6, 86: 0.72 },
  tau2: { 5: 0.15, 32: 0.35, 45: 0.5, 55: 0.6, 70: 0.75 },
  /** A short answer that keeps to its source says little of skill, so its levels lie close together. */
  faithfulness: { 70: 0.3, 80: 0.42, 88: 0.52, 95: 0.62, 99: 0.68 }
} satisfies Record<string, Points>

/** The level of a figure. */
export const levelOf = (points: Points, figure: number): number => {
  // An object lists whole numbers in ascending order, however they were written.
  const entries = Object.entries(points).map(([at, level]) => [Number(at), level] as const)
  const next = entries.findIndex(([at]) => at >= figure)
  const [above, below] = [entries[next], entries[next - 1]]
  if (above === undefined) return entries.at(-1)?.[1] ?? 0
  if (below === undefined) return above[1]
  return below[1] + ((figure - below[0]) / (above[0] - below[0])) * (above[1] - below[1])
}
