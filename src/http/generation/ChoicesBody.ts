/** The choices of a request as its receipt shows them: with the members that were asked for, spelled as they were. */
import type { Generation } from "../../api/Generation.ts"
import type { Choices, ProviderChoices } from "../../domain/Choices.ts"
import { toUsd } from "../../domain/Money.ts"

type ChoicesOnWire = NonNullable<(typeof Generation.Type)["choices"]>

export const choicesBody = ({ costQuality, maxCost, models, provider }: Choices): ChoicesOnWire => ({
  ...(models && { models: models.map(({ name }) => name) }),
  ...(provider && { provider: providerBody(provider) }),
  ...(costQuality !== undefined && { cost_quality: costQuality }),
  ...(maxCost !== undefined && { max_cost_usd: toUsd(maxCost) })
})

const providerBody = (choices: ProviderChoices): NonNullable<ChoicesOnWire["provider"]> => {
  const { ignore, maxPrice, only, order, sort } = choices
  return {
    ...(order && { order }),
    ...(only && { only }),
    ...(ignore && { ignore }),
    ...(choices.allowFallbacks !== undefined && { allow_fallbacks: choices.allowFallbacks }),
    ...(sort && { sort }),
    ...(maxPrice && {
      max_price: {
        ...(maxPrice.prompt !== undefined && { prompt: toUsd(maxPrice.prompt) }),
        ...(maxPrice.completion !== undefined && { completion: toUsd(maxPrice.completion) })
      }
    }),
    ...(choices.denyTraining && { data_collection: "deny" as const }),
    ...(choices.zeroRetention && { zdr: true }),
    ...(choices.requireParameters && { require_parameters: true })
  }
}
