/** The routes for the log of requests, and for the whole receipt of one of them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { ApiKeyId, EnvironmentId, OrganizationId, ProjectId } from "../../domain/Ids.ts"
import { ChargeRule } from "../../domain/PriceEntry.ts"
import { CsvText, Format } from "../CsvAnswer.ts"
import { Generation } from "../Generation.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import { AdminAuthorization, BooleanText, listOf, PageQuery, summary } from "./AdminRoutes.ts"

const Text = Schema.String.check(Schema.isMaxLength(1_000))

const Usd = Schema.String.annotate({ description: "USD as an exact decimal." })

const NonNegativeUsd = Schema.String.check(
  Schema.isPattern(/^\d{1,6}(\.\d{1,12})?$/, { expected: 'an amount of USD as text, such as "0.25"' })
)

const Millis = Schema.NumberFromString.check(
  Schema.isBetween({ minimum: 0, maximum: 1e12 }, { expected: "a number of milliseconds, not negative" })
)

const Count = Schema.Finite
const OptionalText = Schema.NullOr(Schema.String)

const RequestTokens = Schema.Struct({
  input: Count,
  cache_read: Count,
  cache_write: Count,
  audio_input: Count,
  output: Count.annotate({ description: "With those of reasoning." }),
  reasoning: Count
})

export const LoggedRequestBody = Schema.Struct({
  object: Schema.Literal("request"),
  id: Schema.String.annotate({ description: "For its receipt, under `/admin/v1/requests/{id}`." }),
  at: Time.annotate({ description: "When it arrived; of a repeat, its first try." }),
  organization_id: Schema.String,
  project_id: Schema.String,
  environment_id: Schema.String,
  api_key_id: Schema.String,
  requested_model: OptionalText.annotate({ description: "What the request named." }),
  model: OptionalText.annotate({ description: "The model that answered." }),
  provider: OptionalText,
  endpoint: OptionalText.annotate({ description: "The provider's endpoint that answered." }),
  outcome: Schema.String.annotate({
    description: "`completed`, `client_left`, `broken`, or the error code that was sent."
  }),
  call_name: OptionalText,
  end_user_id: OptionalText,
  stream: Schema.Boolean,
  routed: Schema.Boolean.annotate({ description: "The gateway chose the model." }),
  pinned: Schema.Boolean.annotate({ description: "The model is that of the session." }),
  attempts: Schema.Int.annotate({ description: "Endpoints that were tried or skipped." }),
  tokens: Schema.NullOr(RequestTokens).annotate({ description: "null where nothing was charged." }),
  audio_seconds: Schema.NullOr(Schema.Finite).annotate({ description: "Audio that is billed by time." }),
  usage_estimated: Schema.Boolean,
  held_usd: Usd,
  cost_usd: Usd,
  duration_ms: Schema.Finite,
  first_output_ms: Schema.NullOr(Schema.Finite),
  catalog_version: Schema.String
}).annotate({ identifier: "Request" })

const ChargeItem = Schema.Struct({
  unit: Schema.String.annotate({ description: "A kind of token, or `audio_ms`." }),
  count: Count,
  picodollars: Schema.String.annotate({ description: "The rate: for a token, or for an hour of audio." }),
  amount_usd: Usd
})

export const RequestReceipt = Schema.Struct({
  ...Generation.fields,
  object: Schema.Literal("request_receipt"),
  at: Time,
  organization_id: Schema.String,
  project_id: Schema.String,
  environment_id: Schema.String,
  api_key_id: Schema.String,
  charge: Schema.Array(ChargeItem).annotate({
    description:
      "Counts times rates, each rounded up to a picodollar. A client that left pays at most what was held, even " +
      "where this comes to more."
  }),
  rule: Schema.NullOr(ChargeRule).annotate({
    description: "The rule for what was charged; null where that is what the provider bills."
  }),
  provider_cost_usd: Usd.annotate({ description: "What the provider bills, as far as that is known." }),
  margin_usd: Usd.annotate({ description: "What was charged, minus what the provider bills. It may be negative." })
}).annotate({ identifier: "RequestReceipt" })

/** The longest span of a list, and the span of one that names no beginning. */
export const requestSpanDays = { longest: 366, usual: 31 } as const

/** What a list of requests can be narrowed to, and the page that is asked for. */
export const RequestFilters = Schema.Struct({
  limit: PageQuery.fields.limit,
  cursor: Schema.optionalKey(
    Schema.String.check(Schema.isUUID(7)).annotate({ description: "`next_cursor` of the page before." })
  ),
  from: Schema.optionalKey(
    Time.annotate({ description: `ISO 8601; ${requestSpanDays.usual} days before \`to\` if left out.` })
  ),
  to: Schema.optionalKey(Time.annotate({ description: "ISO 8601, exclusive; now if left out." })),
  organization_id: Schema.optionalKey(OrganizationId),
  project_id: Schema.optionalKey(ProjectId),
  environment_id: Schema.optionalKey(EnvironmentId),
  api_key_id: Schema.optionalKey(ApiKeyId),
  model: Schema.optionalKey(Text.annotate({ description: "The model that answered." })),
  provider: Schema.optionalKey(Text),
  endpoint: Schema.optionalKey(Text),
  outcome: Schema.optionalKey(Text),
  call_name: Schema.optionalKey(Text),
  end_user_id: Schema.optionalKey(Text),
  failed_over: Schema.optionalKey(
    BooleanText.annotate({ description: "More than one endpoint was tried or skipped." })
  ),
  pinned: Schema.optionalKey(BooleanText),
  stream: Schema.optionalKey(BooleanText),
  routed: Schema.optionalKey(BooleanText),
  min_cost_usd: Schema.optionalKey(NonNegativeUsd),
  max_cost_usd: Schema.optionalKey(NonNegativeUsd),
  min_duration_ms: Schema.optionalKey(Millis),
  max_duration_ms: Schema.optionalKey(Millis),
  format: Schema.optionalKey(Format)
})

export const RequestRoutes = HttpApiGroup.make("requests")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/requests", {
      query: RequestFilters,
      success: [listOf(LoggedRequestBody), CsvText]
    }).annotateMerge(summary("List requests, the latest first")),
    HttpApiEndpoint.get("get", "/admin/v1/requests/:id", {
      params: { id: Schema.String.annotate({ description: "The id of a request or of an answer." }) },
      success: RequestReceipt
    }).annotateMerge(summary("The receipt of a request"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: requests")
