/** What follows from a model's generation. The catalog tells it by how the model is steered. */
import type { Model } from "../../../catalog/Model.ts"

/**
 * Gemini 3 and later think by levels, where 2.5 had budgets and what came before did not think. These models take ids
 * on calls, insist on thought signatures, and can shape an answer while tools are offered.
 */
export const isGemini3OrLater = ({ reasoning }: Model): boolean =>
  reasoning.support !== "none" && reasoning.budgetTokens === undefined
