/**
 * What the error codes of each provider mean, from their documentation and from recorded traffic. All of them count for
 * every protocol, because relays and compatible servers hand on each other's errors; so no code may have two meanings.
 */
import { lookupTable, type WordsByKey } from "../LookupTable.ts"
import type { FailureKind } from "./FailureKind.ts"

type Codes = WordsByKey<FailureKind>

/** OpenAI and Azure OpenAI, whose codes most servers copy. */
const openAi: Codes = {
  Credentials: [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "invalid_api_key",
    "account_deactivated",
    "access_terminated",
    "invalid_organization",
    "unsupported_country_region_territory"
  ],
  ContextTooLong: ["context_length_exceeded", "string_above_max_length"],
  Refused: [
    "content_filter",
    "content_policy_violation",
    "image_content_policy_violation",
    "invalid_prompt",
    "ResponsibleAIPolicyViolation"
  ],
  Missing: ["model_not_found", "DeploymentNotFound"],
  Unsupported: [
    "OperationNotSupported",
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
    // The gateway sends encrypted reasoning only to the target that made it, so another target can answer.
    "invalid_encrypted_content",
    // The limits of images are those of the model.
    "image_too_large",
    "image_too_small",
    "image_file_too_large",
    "unsupported_image_media_type"
  ],
  Invalid: [
    "invalid_image_url",
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "image_parse_error",
    "failed_to_download_image",
    "empty_array"
  ],
  rate_limited: ["rate_limit_exceeded", "RateLimitReached"],
  overloaded: ["slow_down", "resource_unavailable"]
}

const anthropic: Codes = {
  Credentials: [
    "authentication_error",
    "permission_error",
    "billing_error",
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "linked_organization_billing_unavailable",
    "linked_organization_spend_limit_reached"
  ],
  ContextTooLong: ["request_too_large"],
  rate_limited: ["rate_limit_error", "ramp_limit_exceeded"],
  overloaded: ["overloaded_error"],
  timeout: ["timeout_error"]
}

const google: Codes = { rate_limited: ["RESOURCE_EXHAUSTED"] }

/** The model wrote something that Groq's own server could not read; a second attempt may go better. */
const groq: Codes = {
  Credentials: ["organization_restricted"],
  Missing: [
    "model_decommissioned",
    "model_terms_required",
    "model_permission_blocked_org",
    "model_permission_blocked_project"
  ],
  broken: ["tool_use_failed", "json_validate_failed", "output_parse_failed"]
}

/** The quotas are those of a minute, an hour or a day, and pass. */
const cerebras: Codes = {
  Credentials: ["wrong_api_key"],
  rate_limited: [
    "too_many_tokens_error",
    "too_many_requests_error",
    "token_quota_exceeded",
    "request_quota_exceeded",
    "queue_exceeded"
  ]
}

const mistral: Codes = { rate_limited: ["rate_limited", "1300"], overloaded: ["3505"] }

const together: Codes = {
  Missing: ["model_not_available", "dedicated_endpoint_not_running"],
  Unsupported: ["constraints_model"],
  rate_limited: ["rate_limit", "model_rate_limit", "dynamic_request_limited", "dynamic_token_limited"]
}

const moonshot: Codes = {
  Credentials: ["exceeded_current_quota_error", "invalid_authentication_error", "incorrect_api_key_error"],
  Missing: ["resource_not_found_error"],
  rate_limited: ["rate_limit_reached_error"],
  overloaded: ["engine_overloaded_error"]
}

/**
 * `1110` to `1121` are about the account, and `1113` is an empty balance; `1304` is the limit of a day, and `1308` to
 * `1310` are the limits and the end of a subscription. `1210` means that some parameter does not suit the model; faults
 * of messages have `1213` and `1214`.
 */
const zai: Codes = {
  Credentials: ["1110", "1111", "1112", "1113", "1121", "1220", "1304", "1308", "1309", "1310", "1311", "1313"],
  ContextTooLong: ["1261"],
  Refused: ["1301"],
  Missing: ["1211"],
  Unsupported: ["1210", "1212", "1215", "1221", "1222"],
  Invalid: ["1213", "1214"],
  rate_limited: ["1302", "1303"],
  overloaded: ["1305", "1312"]
}

const alibaba: Codes = {
  Credentials: ["Arrearage", "InvalidApiKey", "AccessDenied.Unpurchased", "AllocationQuota.FreeTierOnly"],
  Refused: ["data_inspection_failed", "DataInspectionFailed"],
  Missing: ["model_not_supported", "ModelNotFound"],
  rate_limited: [
    "limit_requests",
    "limit_burst_rate",
    "LimitRequests",
    "Throttling",
    "Throttling.RateQuota",
    "Throttling.BurstRate",
    "Throttling.AllocationQuota"
  ]
}

/** The numbers in `base_resp.status_code`, under the name of that member. */
const miniMax: Codes = {
  Credentials: ["base_resp.1004", "base_resp.1008", "base_resp.2049", "base_resp.2056", "base_resp.2061"],
  ContextTooLong: ["base_resp.1039"],
  Refused: ["base_resp.1026", "base_resp.1027"],
  rate_limited: ["base_resp.1002", "base_resp.1041", "base_resp.2045"],
  overloaded: ["base_resp.2064"],
  timeout: ["base_resp.1001"],
  server: ["base_resp.1000", "base_resp.1013", "base_resp.1024", "base_resp.1033"]
}

/** Servers that people run themselves: llama.cpp, Text Generation Inference, and the proxies LiteLLM and New API. */
const selfHosted: Codes = {
  Credentials: ["budget_exceeded", "insufficient_user_quota", "pre_consume_token_quota_failed"],
  ContextTooLong: ["exceed_context_size_error"],
  overloaded: ["unavailable_error", "overloaded"]
}

/** Codes that belong to no single provider. `moderation` is the one that `ErrorBody` gives to what OpenRouter flags. */
const several: Codes = {
  ContextTooLong: ["input_too_large", "CONTEXT_LENGTH_EXCEEDED"],
  Refused: ["moderation"],
  Missing: ["invalid_model"],
  rate_limited: ["too_many_requests"],
  overloaded: ["capacity_exceeded", "server_busy"]
}

export const errorCodesByProvider: { readonly [provider: string]: Codes } = {
  openAi,
  anthropic,
  google,
  groq,
  cerebras,
  mistral,
  together,
  moonshot,
  zai,
  alibaba,
  miniMax,
  selfHosted,
  several
}

/** By code or type, wherever in an error it stands. */
export const errorCodes: ReadonlyMap<string, FailureKind> = lookupTable(...Object.values(errorCodesByProvider))

/**
 * Codes that mean no more than a status does. They decide only where the error has no status: a refused key is a
 * refused key also when its type is `api_error`.
 */
export const generalErrorCodes: ReadonlyMap<string, FailureKind> = lookupTable<FailureKind>({
  Invalid: ["invalid_request_error", "BadRequestError", "INVALID_ARGUMENT", "base_resp.2013"],
  Credentials: ["UNAUTHENTICATED", "PERMISSION_DENIED"],
  Unsupported: ["NOT_FOUND", "not_found_error"],
  overloaded: ["UNAVAILABLE"],
  timeout: ["DEADLINE_EXCEEDED"],
  server: ["api_error", "server_error", "InternalServerError", "internal_server_error", "INTERNAL"]
})
