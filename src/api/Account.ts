/** The routes for the holder of an API key: what the key may do, and what its organization can spend. */
import { Schema } from "effect"

import { budgetPeriods, budgetSubjects } from "../domain/Budget.ts"

const Usd = Schema.String

export const KeyFacts = Schema.Struct({
  object: Schema.Literal("key"),
  id: Schema.String,
  name: Schema.String,
  label: Schema.NullOr(Schema.String),
  display_prefix: Schema.String.annotate({ description: "The first characters of the key." }),
  organization_id: Schema.String,
  project_id: Schema.String,
  environment_id: Schema.String,
  endpoints: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The endpoints that the key may use; null: every one."
  }),
  models: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The models that the key may use; null: every one."
  }),
  requests_per_minute: Schema.Int,
  tokens_per_minute: Schema.NullOr(Schema.Int).annotate({ description: "Of prompts and answers; null: no limit." }),
  concurrent_requests: Schema.NullOr(Schema.Int).annotate({ description: "Running at a time; null: no limit." }),
  organization_limits: Schema.Struct({
    requests_per_minute: Schema.NullOr(Schema.Int),
    tokens_per_minute: Schema.NullOr(Schema.Int),
    concurrent_requests: Schema.NullOr(Schema.Int)
  }).annotate({ description: "The limits of all keys of the organization together; null: no limit." }),
  budgets: Schema.Array(
    Schema.Struct({
      subject: Schema.Literals(budgetSubjects).annotate({
        description: "Whether it is a budget of this key alone, or of all keys of its project or its organization."
      }),
      period: Schema.Literals(budgetPeriods),
      time_zone: Schema.String,
      amount_usd: Usd,
      spent_usd: Usd,
      held_usd: Usd.annotate({ description: "What is set aside for requests that are under way." }),
      left_usd: Usd.annotate({ description: "What is neither spent nor held; negative if the budget was passed." }),
      renews_at: Schema.NullOr(Schema.Int).annotate({ description: "Seconds since 1970; null: never." })
    })
  ).annotate({ description: "The budgets that every request with the key has to keep." }),
  created_at: Schema.Int.annotate({ description: "Seconds since 1970." }),
  expires_at: Schema.NullOr(Schema.Int).annotate({ description: "Seconds since 1970; null: never." })
}).annotate({ identifier: "Key" })

export const Credits = Schema.Struct({
  object: Schema.Literal("credits"),
  available_usd: Usd.annotate({ description: "What can be spent: settled money minus what is held." }),
  held_usd: Usd.annotate({ description: "What is set aside for requests that are under way." }),
  hard_cap: Schema.Boolean.annotate({
    description: "Whether the balance can never go below zero, whatever a provider counts."
  })
}).annotate({ identifier: "Credits" })
