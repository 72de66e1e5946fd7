/**
 * The identifiers of the house, branded so that one cannot be passed for another.
 *
 * Organizations, projects, environments, keys and requests are UUIDs (version 7, so they sort by age);
 * models, endpoints and providers are the names that the catalog gives them.
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

/** One per request; also the id of its hold, its charge and its receipt, which is what makes them idempotent. */
export const RequestId = Uuid.pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type

/** A request with credit on hold, which is what a provider is called for. Only the ledger may say that one is. */
export type HeldRequestId = RequestId & Brand.Brand<"Held">

/** A model as users write it, for example `gpt-5-mini`. */
export const ModelId = Schema.NonEmptyString.pipe(Schema.brand("ModelId"))
export type ModelId = typeof ModelId.Type

/** One place where a model is served, for example `groq/gpt-oss-120b`. Breakers are kept per endpoint. */
export const EndpointId = Schema.NonEmptyString.pipe(Schema.brand("EndpointId"))
export type EndpointId = typeof EndpointId.Type

/** A vendor with its own account, for example `anthropic`. */
export const ProviderId = Schema.NonEmptyString.pipe(Schema.brand("ProviderId"))
export type ProviderId = typeof ProviderId.Type

/** Brands text that is already known to be well-formed: read back from our own database, or just generated. */
export const requestId = Brand.nominal<RequestId>()
export const organizationId = Brand.nominal<OrganizationId>()
export const projectId = Brand.nominal<ProjectId>()
export const environmentId = Brand.nominal<EnvironmentId>()
export const apiKeyId = Brand.nominal<ApiKeyId>()
export const modelId = Brand.nominal<ModelId>()
export const endpointId = Brand.nominal<EndpointId>()
export const heldRequestId = Brand.nominal<HeldRequestId>()
export const providerId = Brand.nominal<ProviderId>()
