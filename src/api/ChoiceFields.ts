/**
 * The members of a chat request by which clients choose models and providers, in the spelling of OpenRouter. Requests
 * of every chat endpoint have them. `svc` stands for the name of the service.
 */
import { Schema } from "effect"

import { endpointOrders } from "../domain/Choices.ts"
import { omittable } from "./ChatMessages.ts"

const about = (description: string) => ({ description })

/** As many as OpenRouter takes. */
const maxFallbackModels = 3
const maxProviders = 64
const maxNameLength = 256

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxNameLength))
const ProviderNames = Schema.Array(Name).check(Schema.isMaxLength(maxProviders))

/** A decimal, without a sign and with up to nine digits before the point. */
const amount = /^\d{1,9}(?:\.\d{1,30})?$/

/** An amount of USD as a number or as text. Clients compute amounts, so a number may have an exponent: `1e-7`. */
const Usd = Schema.Union([Schema.Finite, Schema.String]).check(
  Schema.makeFilter((usd) => (typeof usd === "number" ? usd >= 0 && usd < 1_000_000_000 : amount.test(usd)), {
    expected: "an amount of USD that is not negative, as a number or a decimal"
  })
)

export const MaxPriceChoice = Schema.Struct({
  prompt: omittable(Usd).annotate(about("For a million tokens of the prompt.")),
  completion: omittable(Usd).annotate(about("For a million tokens of the answer.")),
  request: omittable(Usd).annotate(about("For the request itself. No provider here charges for that.")),
  image: omittable(Usd).annotate(about("For an image. Images are charged as tokens of the prompt, and nothing else."))
})

export const ProviderChoice = Schema.Struct({
  order: omittable(ProviderNames).annotate(about("Providers to try first, in this order.")),
  only: omittable(ProviderNames).annotate(about("The only providers that may be used.")),
  ignore: omittable(ProviderNames).annotate(about("Providers that may not be used.")),
  allow_fallbacks: omittable(Schema.Boolean).annotate(
    about("False uses the providers of `order` and no other; without `order`, the first one. True by default.")
  ),
  sort: omittable(
    Schema.Union([Schema.Literals(endpointOrders), Schema.Struct({ by: Schema.Literals(endpointOrders) })])
  ).annotate(
    about("Orders the providers of a model: by price, by the time to the first output, or by tokens a second.")
  ),
  max_price: omittable(MaxPriceChoice).annotate(about("The dearest prices that may be charged, in USD.")),
  data_collection: omittable(Schema.Literals(["allow", "deny"])).annotate(
    about("`deny` leaves out providers that may train on what they are sent.")
  ),
  zdr: omittable(Schema.Boolean).annotate(about("True uses only providers that keep nothing of what they are sent.")),
  require_parameters: omittable(Schema.Boolean).annotate(
    about("True uses only providers that get every parameter as it is.")
  )
})

export const ServiceChoice = Schema.Struct({
  cost_quality: omittable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotate(
    about("For `svc-auto`: 0 is the cheapest model that can do it, 1 the best. 0.5 by default.")
  ),
  max_cost_usd: omittable(Usd).annotate(
    about("The most that this request may cost. Its output limit is reduced, or it is refused, rather than cost more.")
  ),
  strict: omittable(Schema.Boolean).annotate(
    about(
      "True uses only models and providers that get every parameter as it is, and refuses the request with " +
        "`unsupported_parameter` if there are none. False by default: what became of parameters is named in the answer."
    )
  )
})

export const choiceFields = {
  models: omittable(Schema.Array(Name).check(Schema.isMaxLength(maxFallbackModels))).annotate(
    about("Models to try in this order when `model`, or the first of them, cannot answer. Three at most.")
  ),
  provider: omittable(ProviderChoice).annotate(about("Which providers may serve the request, and in which order.")),
  svc: omittable(ServiceChoice).annotate(about("What is asked of the gateway itself. Unknown members are refused."))
}
