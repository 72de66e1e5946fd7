/**
 * The identifiers, branded so that one kind cannot be passed for another.
 *
 * Organizations, projects, environments, keys and requests have UUIDs of version 7, which sort by age. Models,
 * endpoints and providers have the names that the catalog gives them.
 */
import { Brand, Schema } from "effect"

const Uuid = Schema.String.check(Schema.isUUID())

export const OrganizationId = Uuid.pipe(Schema.brand("OrganizationId"))
export type OrganizationId = typeof OrganizationId.Type

export const ProjectId = Uuid.pipe(Schema.brand("ProjectId"))
export type ProjectId = typeof ProjectId.Type

export const EnvironmentId = Uuid.pipe(Schema.brand("EnvironmentId"))
export type EnvironmentId = typeof EnvironmentId.Type

export const ApiKeyId = Uuid.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

/** A key that opens the operator's routes. */
export const AdminKeyId = Uuid.pipe(Schema.brand("AdminKeyId"))
export type AdminKeyId = typeof AdminKeyId.Type

/** A limit of what a key, a project or an organization may spend in a period. */
export const BudgetId = Uuid.pipe(Schema.brand("BudgetId"))
export type BudgetId = typeof BudgetId.Type

/** Where alerts are sent. */
export const WebhookId = Uuid.pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type

/** One alert on its way to one webhook. */
export const DeliveryId = Uuid.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** The id of a request, and also of its hold, its charge and its receipt, which makes writing them idempotent. */
export const RequestId = Uuid.pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type

/** A request for which credit is held. Providers are called for such requests only, and only the ledger makes them. */
export type HeldRequestId = RequestId & Brand.Brand<"Held">

/** A model, as clients name it, for example `gpt-5-mini`. */
export const ModelId = Schema.NonEmptyString.pipe(Schema.brand("ModelId"))
export type ModelId = typeof ModelId.Type

/** A model at one provider, for example `groq/gpt-oss-120b`. */
export const EndpointId = Schema.NonEmptyString.pipe(Schema.brand("EndpointId"))
export type EndpointId = typeof EndpointId.Type

/** A provider, with an account of its own, for example `anthropic`. */
export const ProviderId = Schema.NonEmptyString.pipe(Schema.brand("ProviderId"))
export type ProviderId = typeof ProviderId.Type

/** Brand text that is known to be well formed because it was read from our own database or has just been generated. */
export const requestId = Brand.nominal<RequestId>()
export const organizationId = Brand.nominal<OrganizationId>()
export const projectId = Brand.nominal<ProjectId>()
export const environmentId = Brand.nominal<EnvironmentId>()
export const apiKeyId = Brand.nominal<ApiKeyId>()
export const webhookId = Brand.nominal<WebhookId>()
export const deliveryId = Brand.nominal<DeliveryId>()
export const adminKeyId = Brand.nominal<AdminKeyId>()
export const budgetId = Brand.nominal<BudgetId>()
export const modelId = Brand.nominal<ModelId>()
export const endpointId = Brand.nominal<EndpointId>()
export const heldRequestId = Brand.nominal<HeldRequestId>()
export const providerId = Brand.nominal<ProviderId>()
