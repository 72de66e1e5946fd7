/** What a client is answered when no model can serve its request. */
import * as Errors from "../api/Errors.ts"
import type { Model } from "../catalog/Model.ts"
import type { Offer } from "../catalog/Offer.ts"
import type { ChoiceExclusion } from "../domain/Choices.ts"
import type { Exclusion } from "../routing/Eligibility.ts"
import type { Ranking } from "../routing/Ranking.ts"
import type { StrictRequest } from "./StrictRequests.ts"

/** Why a model cannot serve a request, as a phrase that follows the name of the model. */
export const exclusionText: { readonly [E in Exclusion]: string } = {
  not_allowed: "may not be used with this API key",
  image_input: "does not take image input",
  audio_input: "does not take audio input",
  tools: "does not support tools",
  forced_tool_choice: "cannot be forced to call a tool; use tool_choice auto",
  structured_output: "does not support response_format json_schema",
  combination: "does not support response_format together with tools",
  parameters: "would not get every parameter as it is",
  reasoning_tier: "cannot reason as much, or as little, as asked",
  context_window: "has too small a context window for this request"
}

/** What the choices of a request left out, as such a phrase. */
export const choiceText = (exclusions: ReadonlyArray<ChoiceExclusion>): string =>
  `is left out by ${[...new Set(exclusions)].join(" and ")}`

/** The error for a routed request without candidates. `leftOut`: by which of its choices models were left out. */
export const noCandidate = (
  { excluded }: Ranking,
  { offer, strict }: { readonly offer: Offer; readonly strict?: StrictRequest | undefined },
  leftOut: ReadonlyArray<ChoiceExclusion>
): Errors.ModelNotAllowed | Errors.InvalidRequest | Errors.UnsupportedParameter => {
  const reasons = [...new Set(excluded.map(({ reason }) => reason))]
  if (leftOut.length === 0 && reasons.length > 0 && reasons.every((reason) => reason === "not_allowed")) {
    return Errors.ModelNotAllowed.of("This API key's model allowlist leaves no model to choose from")
  }
  const refused = excluded.flatMap(({ model, reason }): ReadonlyArray<Model> => {
    const found = reason === "parameters" ? offer.lookup(model) : undefined
    return found?._tag === "Served" ? [found.model] : []
  })
  if (strict !== undefined && refused.length > 0) return strict.refusal(refused)
  const texts = [
    ...reasons.map((reason) => exclusionText[reason]),
    ...(leftOut.length > 0 ? [choiceText(leftOut)] : [])
  ]
  const why = texts.join("; or ")
  return Errors.InvalidRequest.of(`No model can serve this request: each of them ${why || "is switched off"}`)
}
