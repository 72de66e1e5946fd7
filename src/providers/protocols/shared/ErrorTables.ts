/**
 * What providers' error codes, texts and statuses mean, as data. Codes are looked up first because they are meant for
 * machines, then texts, then the status; so a table can be read without its neighbours. A text that a client could have
 * put into its own request (a tool named `billing`) must not decide alone: such texts name the statuses they count for.
 */
import type { FailureReason } from "../../../domain/Failure.ts"

export type TransientKind = Extract<FailureReason, { readonly _tag: "Transient" }>["kind"]
/** A reason without its details: the kind of a transient failure, or the tag of another. */
export type Verdict = TransientKind | Exclude<FailureReason["_tag"], "Transient">

/** By the code or type that a provider gives, in any of its fields. MiniMax's numbers carry the name of their field. */
const codesOf: { readonly [V in Verdict]?: ReadonlyArray<string> } = {
  Credentials: [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "unsupported_country_region_territory",
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "linked_organization_billing_unavailable",
    "linked_organization_spend_limit_reached",
    "exceeded_current_quota_error",
    "1113",
    "1308",
    "base_resp.1004",
    "base_resp.1008",
    "base_resp.2049"
  ],
  ContextTooLong: [
    "context_length_exceeded",
    "string_above_max_length",
    "input_too_large",
    "exceed_context_size_error",
    "request_too_large",
    "1261",
    "base_resp.1039"
  ],
  Refused: [
    "content_filter",
    "content_policy_violation",
    "image_content_policy_violation",
    "invalid_prompt",
    "ResponsibleAIPolicyViolation",
    "data_inspection_failed",
    "moderation",
    "1301",
    "base_resp.1026",
    "base_resp.1027"
  ],
  Unsupported: [
    "model_not_found",
    "invalid_model",
    "not_found_error",
    "DeploymentNotFound",
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
    // Another target gets the conversation without it.
    "invalid_encrypted_content"
  ],
  Invalid: [
    "invalid_image_url",
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "image_parse_error",
    "image_too_large",
    "image_too_small",
    "image_file_too_large",
    "unsupported_image_media_type",
    "failed_to_download_image",
    "empty_array",
    "1210",
    "1211",
    "1212",
    "1213",
    "1214",
    "base_resp.2013"
  ],
  rate_limited: [
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit",
    "limit_requests",
    "RateLimitReached",
    "too_many_requests",
    "dynamic_request_limited",
    "ramp_limit_exceeded",
    "RESOURCE_EXHAUSTED",
    "1302",
    "1303",
    "base_resp.1002"
  ],
  overloaded: [
    "overloaded_error",
    "overloaded",
    "engine_overloaded_error",
    "unavailable_error",
    "capacity_exceeded",
    "resource_unavailable",
    "slow_down",
    "server_busy",
    "3505",
    "1305"
  ],
  timeout: ["timeout_error", "base_resp.1001"],
  server: [
    "api_error",
    "server_error",
    "internal_server_error",
    "InternalServerError",
    "base_resp.1000",
    "base_resp.1013"
  ],
  // The model wrote something its own server could not read; asked again it may write better.
  broken: ["tool_use_failed", "json_validate_failed", "output_parse_failed"]
}

export const codes: ReadonlyMap<string, Verdict> = new Map(
  // Object.entries widens the keys of a record that is declared with exactly these.
  (Object.entries(codesOf) as ReadonlyArray<[Verdict, ReadonlyArray<string>]>).flatMap(([verdict, names]) =>
    names.map((name) => [name, verdict] as const)
  )
)

/** Codes too general to decide before the text and the status have been looked at. */
export const generalCodes: ReadonlyMap<string, Verdict> = new Map([
  ["invalid_request_error", "Invalid"],
  ["BadRequestError", "Invalid"]
])

export interface TextRule {
  readonly pattern: RegExp
  readonly verdict: Verdict
  /** Statuses the text counts for; all of them when absent. An error inside a success has no status and counts. */
  readonly statuses?: ReadonlyArray<number>
}

const accountStatuses = [400, 401, 402, 403, 429]

/** One pattern out of several, blind to case. */
const anyOf = (...patterns: ReadonlyArray<RegExp>): RegExp =>
  new RegExp(patterns.map((pattern) => pattern.source).join("|"), "i")

/** In order: the first that matches decides. */
export const texts: ReadonlyArray<TextRule> = [
  { pattern: /request too large .{0,200}tokens per min/i, verdict: "ContextTooLong" },
  {
    pattern: anyOf(
      /exceeded your current quota|quota exceeded|out of budget|usage limit reached|spend(?:ing)? limit/,
      /insufficient[ _](?:quota|balance|credits?|funds)/
    ),
    verdict: "Credentials",
    statuses: [402, 403, 429]
  },
  { pattern: /credit balance is too low/i, verdict: "Credentials" },
  {
    pattern: anyOf(
      /(?:incorrect|invalid|missing|no) (?:x-)?(?:api[ -]?key|authentication)/,
      /api[ -]?key .{0,60}(?:invalid|not valid|expired)/
    ),
    verdict: "Credentials",
    statuses: accountStatuses
  },
  { pattern: /^throttling|too many requests|rate limit/i, verdict: "rate_limited", statuses: [400, 424, 429] },
  { pattern: /too many tokens, please wait/i, verdict: "rate_limited" },
  {
    pattern: anyOf(
      /context[ _](?:window|length)|maximum context|maximum prompt length|longer than the model's context/,
      /prompt (?:is )?too long|prompt exceeds max|input is too long|range of input length/,
      /exceeds the maximum number of tokens|exceeded model token limit|exceeds the available context size/,
      /reduce the length of the messages|too large for model with|token limit exceeded|too many tokens/,
      /audio duration .{0,60}longer than/
    ),
    verdict: "ContextTooLong"
  },
  { pattern: /safety_check_type_|content management policy|content filtering policy/i, verdict: "Refused" },
  {
    pattern: anyOf(
      /with reasoning_effort are not supported|does not support effort level/,
      /encrypted content .{0,200}could not be (?:verified|decrypted)/,
      /thinking\.type\.\w+.{0,5} is not supported/,
      /content blocks are expected to be either|not supported (?:with|for|by) this model/,
      /model .{0,200}(?:does not exist|not found|does not support)|do not have access to/,
      // Said of junk, but also of long audio and of codecs that other transcribers take.
      /audio (?:file|input) (?:might be corrupted|could not be decoded)/
    ),
    verdict: "Unsupported"
  },
  {
    pattern: anyOf(
      /overloaded|server[_ ]busy|experiencing high demand|loading model|please retry your request/,
      /service tier capacity exceeded|model is at capacity|service (?:is )?(?:temporarily )?unavailable/
    ),
    verdict: "overloaded"
  },
  {
    pattern: anyOf(
      /provider returned error|upstream (?:request failed|connect)|internal (?:server )?error/,
      /reset before headers|socket hang up|other side closed|fetch failed|stream ended before/
    ),
    verdict: "server"
  }
]

/** By HTTP status, when neither code nor text said more. Others in the five hundreds are the server's fault. */
export const statuses: { readonly [status: number]: Verdict } = {
  400: "Invalid",
  401: "Credentials",
  402: "Credentials",
  403: "Credentials",
  404: "Unsupported",
  405: "Unsupported",
  408: "timeout",
  409: "server",
  410: "Unsupported",
  412: "server",
  413: "ContextTooLong",
  415: "Unsupported",
  422: "Invalid",
  424: "overloaded",
  425: "server",
  429: "rate_limited",
  498: "overloaded",
  499: "network",
  503: "overloaded",
  504: "timeout",
  524: "timeout",
  529: "overloaded"
}
