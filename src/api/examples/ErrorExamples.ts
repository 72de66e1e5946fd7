/** A message for every error code, as an example of what the gateway says. Programs look at the code alone. */
import type { ErrorCode } from "../ErrorTable.ts"

/** The compiler refuses a code without an entry. */
export const errorMessages: { readonly [Code in ErrorCode]: string } = {
  invalid_request: "temperature: Expected a value between 0 and 2",
  invalid_model: 'model: "gpt-5-mimi" is not a model of this gateway; see /v1/models',
  invalid_call_name: "metadata.call_name must be text of 1 to 64 characters that is not only whitespace",
  invalid_end_user_id: "svc.end_user_id must be text of 1 to 512 characters that is not only whitespace",
  unsupported_parameter: "n must be 1 or omitted: exactly one choice is returned",
  invalid_file_format: "file must have the extension flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm",
  file_too_large: "file must have at most 26214400 bytes",
  unsupported_response_format: "response_format must be json or text",
  unauthorized: "Missing or invalid API key",
  insufficient_credits: "The organization has no credit left; add credit and try again",
  endpoint_not_allowed: "This API key may not use this endpoint",
  model_not_allowed: "This API key may not use gpt-5-mini",
  not_found: "There is no such route; see /docs",
  method_not_allowed: "Use GET on this route",
  request_timeout: "The request body did not arrive: no byte of it came for 5 seconds",
  conflict: "There is an organization of this name already",
  idempotency_conflict: "This Idempotency-Key was used with another request body in the last 24 hours",
  request_too_large: "The request body must have at most 33554432 bytes",
  rate_limit_exceeded: "This API key may make 600 requests per minute",
  budget_exceeded:
    "The monthly budget of this API key (25 USD, UTC) does not allow this request: 25.0004 USD are spent. " +
    "It renews at 2026-12-01T00:00:00.000+00:00[UTC]",
  internal_error: "Unexpected server error"
}
