/** What the entries of all kinds of models in a catalog file have in common. */
import { Schema } from "effect"

import { TokenNumber } from "../domain/PriceEntry.ts"

export const CalendarDate = Schema.String.check(
  Schema.isPattern(/^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/, { expected: "YYYY-MM or YYYY-MM-DD" })
)

export const commonModelFields = {
  id: Schema.String.check(Schema.isPattern(/^\S{1,128}$/, { expected: "a name without spaces" })),
  owned_by: Schema.optionalKey(Schema.NonEmptyString).annotateKey({ description: "Default: the first provider." }),
  released: Schema.optionalKey(CalendarDate)
}

export const commonEndpointFields = {
  provider: Schema.String,
  upstream: Schema.optionalKey(Schema.NonEmptyString).annotateKey({
    description: "The model's name at the provider. Default: the model's id."
  }),
  context_window: Schema.optionalKey(TokenNumber).annotateKey({ description: "Where it differs from the model's." })
}

/** Where the prices of a model come from. */
export const PriceSource = Schema.optionalKey(Schema.String).annotateKey({
  description: "The source of the prices, and how they were chosen where sources differ."
})
