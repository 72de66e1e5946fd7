/** The routes for the catalog in force and for the health of the providers, as the gateway that answers sees it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { ChargeRule } from "../../domain/PriceEntry.ts"
import { ModelFacts } from "../Models.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import { AdminAuthorization, BooleanText, listOf, PageQuery, summary } from "./AdminRoutes.ts"

const { price_usd_per_audio_hour, price_usd_per_mtok, ...facts } = ModelFacts.fields

const CatalogEndpoint = Schema.Struct({
  id: Schema.String,
  provider: Schema.String,
  enabled: Schema.Boolean.annotate({ description: "The provider is switched on." }),
  upstream: Schema.String.annotate({ description: "The name of the model at this provider." }),
  protocol: Schema.String,
  price_usd_per_mtok,
  price_usd_per_audio_hour,
  charge: Schema.NullOr(ChargeRule).annotate({
    description: "The rule of the catalog file for what is charged; null where the provider's price is charged."
  }),
  provider_price: Schema.Struct({
    price_usd_per_mtok,
    price_usd_per_audio_hour,
    minimum_audio_seconds: facts.minimum_audio_seconds
  }).annotate({
    description: "What the provider bills; the prices beside it are charged."
  }),
  minimum_audio_seconds: facts.minimum_audio_seconds,
  context_window: facts.context_window,
  max_output_tokens: facts.max_output_tokens,
  structured_output: facts.structured_output,
  json_mode: Schema.Boolean.annotate({ description: "It has a mode of its own for answers in JSON." })
})

export const CatalogModelBody = Schema.Struct({
  object: Schema.Literal("catalog_model"),
  id: Schema.String,
  kind: facts.kind,
  owned_by: Schema.String,
  served: Schema.Boolean.annotate({ description: "At least one of its providers is switched on." }),
  input_modalities: facts.input_modalities,
  tools: facts.tools,
  forced_tool_choice: facts.forced_tool_choice,
  structured_output: facts.structured_output,
  reasoning: facts.reasoning,
  endpoints: Schema.Array(CatalogEndpoint).annotate({ description: "In order of preference." })
}).annotate({ identifier: "CatalogModel" })

export const EndpointHealthBody = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  breaker: Schema.Literals(["closed", "open", "half_open"]).annotate({
    description: "`open`: the endpoint is not called. `half_open`: the next call decides."
  }),
  retry_after_seconds: Schema.NullOr(Schema.Finite).annotate({
    description: "Until the endpoint is called again; null unless the breaker is open."
  }),
  rate_limited: Schema.Boolean.annotate({ description: "The provider limits our rate and said for how long." }),
  refused_since: Schema.NullOr(Time).annotate({
    description: "Since when this endpoint refuses our account: its key, its quota or its bill."
  }),
  last_failure: Schema.NullOr(
    Schema.Struct({
      class: Schema.String.annotate({ description: "Such as `rate_limited`, `timeout` or `Credentials`." }),
      status: Schema.NullOr(Schema.Int).annotate({ description: "The provider's HTTP status, if it answered." }),
      at: Time
    })
  ).annotate({ description: "The last failure that was the provider's fault." })
})

export const ProviderBody = Schema.Struct({
  object: Schema.Literal("provider"),
  id: Schema.String,
  enabled: Schema.Boolean.annotate({ description: "It has a key, or what it needs in place of one." }),
  protocol: Schema.String,
  dialect: Schema.String,
  api_key_variable: Schema.String,
  base_url_variable: Schema.String,
  account_refused_since: Schema.NullOr(Time).annotate({
    description: "Since when none of its endpoints accepts our account."
  }),
  endpoints: Schema.Array(EndpointHealthBody).annotate({ description: "By model; none while it is switched off." })
}).annotate({ identifier: "Provider" })

/** Entries of the catalog have names in place of UUIDs. */
const CatalogPageQuery = {
  limit: PageQuery.fields.limit,
  cursor: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: "`next_cursor` of the page before." }))
}

export const CatalogRoutes = HttpApiGroup.make("catalog")
  .add(
    HttpApiEndpoint.get("listModels", "/admin/v1/catalog/models", {
      query: Schema.Struct({
        ...CatalogPageQuery,
        served: Schema.optionalKey(BooleanText),
        provider: Schema.optionalKey(Schema.String.annotate({ description: "Only models that it can serve." }))
      }),
      success: Schema.Struct({
        ...listOf(CatalogModelBody).fields,
        catalog_version: Schema.String.annotate({ description: "The version that receipts and charges name." })
      })
    }).annotateMerge(summary("List the models of the catalog, with the prices in force")),
    HttpApiEndpoint.get("listProviders", "/admin/v1/providers", {
      query: Schema.Struct({ ...CatalogPageQuery, enabled: Schema.optionalKey(BooleanText) }),
      success: Schema.Struct({
        ...listOf(ProviderBody).fields,
        gateway_id: Schema.String.annotate({ description: "The replica that answers. Each has breakers of its own." })
      })
    }).annotateMerge(summary("List the providers and how they are doing"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: catalog and providers")
