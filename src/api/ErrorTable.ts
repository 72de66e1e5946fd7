/** The closed list of error codes: the status of each, and when it is answered. */

/** Every error code and its HTTP status. */
export const errorTable = {
  invalid_request: 400,
  invalid_model: 400,
  invalid_call_name: 400,
  invalid_end_user_id: 400,
  unsupported_parameter: 400,
  invalid_file_format: 400,
  file_too_large: 400,
  unsupported_response_format: 400,
  unauthorized: 401,
  insufficient_credits: 402,
  endpoint_not_allowed: 403,
  model_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  idempotency_conflict: 409,
  request_too_large: 413,
  rate_limit_exceeded: 429,
  budget_exceeded: 429,
  internal_error: 500
} as const

/** What `error.code` of an error body can be. */
export type ErrorCode = keyof typeof errorTable

/** When each of them is answered, as Markdown for the published table. The compiler refuses a code without an entry. */
export const errorMeanings: { readonly [Code in ErrorCode]: string } = {
  invalid_request: "The body is malformed, or a field is invalid; the message names the field and the rule.",
  invalid_model:
    "The model is neither `svc-auto` nor null nor the id of a model, or cannot do what the endpoint is for.",
  invalid_call_name: "`call_name` is empty, only white space or longer than 64 characters.",
  invalid_end_user_id:
    "`end_user_id` of a transcription or `x-end-user-id` is empty, only white space or too long (512).",
  unsupported_parameter:
    "`n` above 1, `audio`, audio in `modalities`, `web_search_options`, `functions`, `function_call`, an unknown " +
    "member of `provider` or `svc`, `cost_quality` beside a named model, or what a message cannot carry; with " +
    "`svc.strict`, a parameter that no model would get as it is.",
  invalid_file_format: "The name of an audio file has an extension that cannot be transcribed.",
  file_too_large: "An audio file is larger than 25 MiB (26,214,400 bytes).",
  unsupported_response_format: "The `response_format` of a transcription is neither `json` nor `text`.",
  unauthorized: "The API key is missing, unknown, expired or revoked.",
  insufficient_credits:
    "The balance is zero or negative, held for other requests, or too small under a hard cap; see the message.",
  endpoint_not_allowed: "The endpoint is not on the key's allowlist.",
  model_not_allowed: "The model is not on the key's allowlist.",
  not_found: "There is no such route, model or request.",
  method_not_allowed: "The route exists, but not with this method.",
  request_timeout: "The body stopped arriving or came too slowly. Nothing was charged.",
  conflict:
    "The name is taken, there is such a budget, the key that was to be replaced is not valid any more, " +
    "or the webhook is disabled.",
  idempotency_conflict:
    "The `Idempotency-Key` was used with another body, or its answer was charged and cannot be sent again; " +
    "a `payment_id` is booked with another amount.",
  request_too_large: "The body has more than `MAX_BODY_BYTES` bytes.",
  rate_limit_exceeded:
    "Too many requests with this key, too many at the same time, or every provider limits our rate; see `retry-after`.",
  budget_exceeded:
    "A budget of the key, its project or its organization is spent, or the rest of it is held for other requests.",
  internal_error: "No provider answered, or the gateway itself failed."
}
