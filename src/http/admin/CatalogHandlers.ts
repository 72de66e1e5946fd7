/** `/admin/v1/catalog/models` and `/admin/v1/providers`. Lists are in the order of their ids. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import type { CatalogModelBody, EndpointHealthBody, ProviderBody } from "../../api/admin/CatalogRoutes.ts"
import { Api } from "../../api/Api.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { providerPriceOf } from "../../catalog/ChargeRules.ts"
import type { Endpoint, Model } from "../../catalog/Model.ts"
import type { Provider } from "../../catalog/Provider.ts"
import { pageOf } from "../../domain/Page.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { accountRefusedSince, ProviderHealth } from "../../providers/dispatch/ProviderHealth.ts"
import { listBody, pageRequestOf, timeOf, timeOrNull } from "../edge/ListWire.ts"
import { inputModalitiesOf, statedPrice, termsOf } from "../models/ModelHandlers.ts"

type Served = Pick<Catalog["Service"], "account">

export const catalogHandlersLayer = HttpApiBuilder.group(Api, "catalog", (handlers) =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const health = yield* ProviderHealth
    const ledger = yield* CreditLedger
    const models = byId(catalog.data.models.values()).map((model) => modelBody(model, catalog))
    const providers = byId(catalog.data.providers.values())
    return handlers
      .handle("listModels", ({ query }) => {
        const found = models.filter(
          ({ endpoints, served }) =>
            (query.served === undefined || served === (query.served === "true")) &&
            (query.provider === undefined || endpoints.some(({ provider }) => provider === query.provider))
        )
        return Effect.succeed({ ...pageAfter(found, query, (model) => model), catalog_version: catalog.version })
      })
      .handle("listProviders", ({ query }) =>
        Effect.map(ledger.gateway, (gateway) => {
          const found = providers.filter(
            ({ id }) => query.enabled === undefined || isEnabled(catalog, id) === (query.enabled === "true")
          )
          const page = pageAfter(found, query, (provider) => providerBody(provider, catalog, health))
          return { ...page, gateway_id: gateway }
        })
      )
  })
)

const byId = <A extends { readonly id: string }>(entries: Iterable<A>): ReadonlyArray<A> =>
  [...entries].sort((a, b) => (a.id < b.id ? -1 : 1))

const pageAfter = <A extends { readonly id: string }, B>(
  sorted: ReadonlyArray<A>,
  query: { readonly limit?: number; readonly cursor?: string },
  write: (item: A) => B
) => {
  const request = pageRequestOf(query)
  const { cursor } = request
  const rest = cursor === undefined ? sorted : sorted.filter(({ id }) => id > cursor)
  return listBody(
    pageOf(request, rest, ({ id }) => id),
    write
  )
}

const isEnabled = ({ account }: Served, provider: Provider["id"]): boolean => account(provider) !== undefined

const modelBody = (model: Model, served: Served): typeof CatalogModelBody.Type => ({
  object: "catalog_model",
  id: model.id,
  kind: model.kind,
  owned_by: model.ownedBy,
  served: model.endpoints.some(({ provider }) => isEnabled(served, provider)),
  input_modalities: inputModalitiesOf(model),
  tools: model.tools,
  forced_tool_choice: model.forcedToolChoice,
  structured_output: model.structuredOutput,
  reasoning: { support: model.reasoning.support, efforts: model.reasoning.efforts },
  endpoints: model.endpoints.map((endpoint) => endpointBody(endpoint, served))
})

const endpointBody = (endpoint: Endpoint, served: Served) => ({
  id: endpoint.id,
  provider: endpoint.provider,
  enabled: isEnabled(served, endpoint.provider),
  upstream: endpoint.upstream,
  protocol: endpoint.protocol,
  ...termsOf(endpoint),
  charge: endpoint.charge?.rule ?? null,
  provider_price: statedPrice(providerPriceOf(endpoint)),
  structured_output: endpoint.structuredOutput,
  json_mode: endpoint.jsonMode
})

const providerBody = (
  provider: Provider,
  { models, ...served }: Pick<Catalog["Service"], "account" | "models">,
  health: ProviderHealth["Service"]
): typeof ProviderBody.Type => {
  const endpoints = models.flatMap((model) =>
    model.endpoints.filter((endpoint) => endpoint.provider === provider.id).map(({ id }) => ({ id, model: model.id }))
  )
  return {
    object: "provider",
    id: provider.id,
    enabled: isEnabled(served, provider.id),
    protocol: provider.protocol,
    dialect: provider.dialect,
    api_key_variable: provider.apiKeyEnv,
    base_url_variable: provider.baseUrlEnv,
    account_refused_since: timeOrNull(accountRefusedSince(endpoints.map(({ id }) => health.endpoint(id)))),
    endpoints: endpoints.map((endpoint) => healthBody(endpoint, health))
  }
}

const healthBody = (
  { id, model }: { readonly id: Endpoint["id"]; readonly model: Model["id"] },
  health: ProviderHealth["Service"]
): typeof EndpointHealthBody.Type => {
  const { breaker, isRateLimited, lastFailure, refusedSinceMillis, retryAfterMillis } = health.endpoint(id)
  return {
    id,
    model,
    breaker,
    retry_after_seconds: breaker === "open" ? retryAfterMillis / 1_000 : null,
    rate_limited: isRateLimited,
    refused_since: timeOrNull(refusedSinceMillis),
    last_failure: lastFailure
      ? { class: lastFailure.class, status: lastFailure.status ?? null, at: timeOf(lastFailure.atMillis) }
      : null
  }
}
