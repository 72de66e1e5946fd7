/** Temperature and nucleus sampling, which many models refuse beside reasoning: they are sent only where accepted. */
import type { WireCall } from "../../Protocol.ts"
import type { Thinking } from "./Thinking.ts"

/** A parameter that is `undefined` is not sent. */
export interface Sampling {
  /** From 0 to 2, as in the client's request. */
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly frequencyPenalty: number | undefined
  readonly presencePenalty: number | undefined
}

const noSampling: Sampling = {
  temperature: undefined,
  topP: undefined,
  frequencyPenalty: undefined,
  presencePenalty: undefined
}

/**
 * What the client set, as far as the model accepts it beside `thinking`. `unset` is what a model that can reason does
 * when the request leaves that open.
 */
export const acceptedSampling = (
  { model, request }: WireCall,
  thinking: Thinking,
  { unset }: { readonly unset: "reasons" | "does not reason" }
): Sampling => {
  const reasons = thinking.state === "on" || (thinking.state === "unset" && unset === "reasons" && canReason(model))
  const accepted = model.sampling === "always" || (model.sampling === "without_reasoning" && !reasons)
  if (!accepted) return noSampling
  const { frequencyPenalty, presencePenalty, temperature, topP } = request
  return { temperature, topP, frequencyPenalty, presencePenalty }
}

/** True for models that reason, whether or not this call lets them. */
export const canReason = ({ reasoning }: WireCall["model"]): boolean => reasoning.support !== "none"

/** The scale of Anthropic's models, and of all models on Bedrock, ends at 1. */
export const temperatureUpToOne = ({ temperature }: Sampling): number | undefined =>
  temperature === undefined ? undefined : Math.min(temperature, 1)
