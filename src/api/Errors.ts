/**
 * The closed list of errors that a client can get: code, status and body in one place. The schema fields of each class
 * are the wire body, `{ error: { code, message } }`. `_tag` is a plain class field: errors can be caught by it, and it
 * is never sent.
 */
import { type Duration, Schema } from "effect"

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
  idempotency_conflict: 409,
  request_too_large: 413,
  rate_limit_exceeded: 429,
  internal_error: 500
} as const

/** What `error.code` of an error body can be. */
export type ErrorCode = keyof typeof errorTable

/** When each of them is answered, as Markdown for the published table. The compiler refuses a code without an entry. */
export const errorMeanings: { readonly [Code in ErrorCode]: string } = {
  invalid_request: "The body is malformed, or a field is invalid; the message names the field and the rule.",
  invalid_model: "The model is neither `svc-auto` nor null nor the id of a model.",
  invalid_call_name: "`call_name` is empty, only white space or longer than 64 characters.",
  invalid_end_user_id: "`end_user_id` of a transcription is empty, only white space or longer than 512 characters.",
  unsupported_parameter:
    "`n` above 1, `audio`, audio in `modalities`, `web_search_options`, `functions` or `function_call`.",
  invalid_file_format: "The name of an audio file has an extension that cannot be transcribed.",
  file_too_large: "An audio file is larger than 25 MiB (26,214,400 bytes).",
  unsupported_response_format: "The `response_format` of a transcription is neither `json` nor `text`.",
  unauthorized: "The API key is missing, unknown, expired or revoked.",
  insufficient_credits: "The balance is zero or negative.",
  endpoint_not_allowed: "The endpoint is not on the key's allowlist.",
  model_not_allowed: "The model is not on the key's allowlist.",
  not_found: "There is no such route, model or request.",
  method_not_allowed: "The route exists, but not with this method.",
  idempotency_conflict:
    "The `Idempotency-Key` was used with another body, or its answer was charged and cannot be sent again.",
  request_too_large: "The body has more than `MAX_BODY_BYTES` bytes.",
  rate_limit_exceeded:
    "Too many requests with this key, too many uploads at once, or every provider limits our rate; see `retry-after`.",
  internal_error: "No provider answered, or the gateway itself failed."
}

const body = <const Code extends ErrorCode>(code: Code) => ({
  error: Schema.Struct({
    code: Schema.tag(code),
    message: Schema.String.annotate({ description: "For people. It may change; programs should look at the code." })
  })
})

const status = <const Code extends ErrorCode>(code: Code) => ({ httpApiStatus: errorTable[code] })

export class InvalidRequest extends Schema.Error<InvalidRequest>("InvalidRequest")(
  body("invalid_request"),
  status("invalid_request")
) {
  readonly _tag = "InvalidRequest"
  static readonly of = (message: string) => new InvalidRequest({ error: { message } })
}

export class InvalidModel extends Schema.Error<InvalidModel>("InvalidModel")(
  body("invalid_model"),
  status("invalid_model")
) {
  readonly _tag = "InvalidModel"
  static readonly of = (message: string) => new InvalidModel({ error: { message } })
}

export class InvalidCallName extends Schema.Error<InvalidCallName>("InvalidCallName")(
  body("invalid_call_name"),
  status("invalid_call_name")
) {
  readonly _tag = "InvalidCallName"
  static readonly of = (message: string) => new InvalidCallName({ error: { message } })
}

export class InvalidEndUserId extends Schema.Error<InvalidEndUserId>("InvalidEndUserId")(
  body("invalid_end_user_id"),
  status("invalid_end_user_id")
) {
  readonly _tag = "InvalidEndUserId"
  static readonly of = (message: string) => new InvalidEndUserId({ error: { message } })
}

export class UnsupportedParameter extends Schema.Error<UnsupportedParameter>("UnsupportedParameter")(
  body("unsupported_parameter"),
  status("unsupported_parameter")
) {
  readonly _tag = "UnsupportedParameter"
  static readonly of = (message: string) => new UnsupportedParameter({ error: { message } })
}

export class InvalidFileFormat extends Schema.Error<InvalidFileFormat>("InvalidFileFormat")(
  body("invalid_file_format"),
  status("invalid_file_format")
) {
  readonly _tag = "InvalidFileFormat"
  static readonly of = (message: string) => new InvalidFileFormat({ error: { message } })
}

export class FileTooLarge extends Schema.Error<FileTooLarge>("FileTooLarge")(
  body("file_too_large"),
  status("file_too_large")
) {
  readonly _tag = "FileTooLarge"
  static readonly of = (message: string) => new FileTooLarge({ error: { message } })
}

export class UnsupportedResponseFormat extends Schema.Error<UnsupportedResponseFormat>("UnsupportedResponseFormat")(
  body("unsupported_response_format"),
  status("unsupported_response_format")
) {
  readonly _tag = "UnsupportedResponseFormat"
  static readonly of = (message: string) => new UnsupportedResponseFormat({ error: { message } })
}

export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(
  body("unauthorized"),
  status("unauthorized")
) {
  readonly _tag = "Unauthorized"
  static readonly of = (message: string) => new Unauthorized({ error: { message } })
}

export class InsufficientCredits extends Schema.Error<InsufficientCredits>("InsufficientCredits")(
  body("insufficient_credits"),
  status("insufficient_credits")
) {
  readonly _tag = "InsufficientCredits"
  static readonly of = (message: string) => new InsufficientCredits({ error: { message } })
}

export class EndpointNotAllowed extends Schema.Error<EndpointNotAllowed>("EndpointNotAllowed")(
  body("endpoint_not_allowed"),
  status("endpoint_not_allowed")
) {
  readonly _tag = "EndpointNotAllowed"
  static readonly of = (message: string) => new EndpointNotAllowed({ error: { message } })
}

export class ModelNotAllowed extends Schema.Error<ModelNotAllowed>("ModelNotAllowed")(
  body("model_not_allowed"),
  status("model_not_allowed")
) {
  readonly _tag = "ModelNotAllowed"
  static readonly of = (message: string) => new ModelNotAllowed({ error: { message } })
}

export class NotFound extends Schema.Error<NotFound>("NotFound")(body("not_found"), status("not_found")) {
  readonly _tag = "NotFound"
  static readonly of = (message: string) => new NotFound({ error: { message } })
}

export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(
  body("method_not_allowed"),
  status("method_not_allowed")
) {
  readonly _tag = "MethodNotAllowed"
  static readonly of = (message: string) => new MethodNotAllowed({ error: { message } })
}

export class IdempotencyConflict extends Schema.Error<IdempotencyConflict>("IdempotencyConflict")(
  body("idempotency_conflict"),
  status("idempotency_conflict")
) {
  readonly _tag = "IdempotencyConflict"
  static readonly of = (message: string) => new IdempotencyConflict({ error: { message } })
}

export class RequestTooLarge extends Schema.Error<RequestTooLarge>("RequestTooLarge")(
  body("request_too_large"),
  status("request_too_large")
) {
  readonly _tag = "RequestTooLarge"
  static readonly of = (message: string) => new RequestTooLarge({ error: { message } })
}

export class RateLimitExceeded extends Schema.Error<RateLimitExceeded>("RateLimitExceeded")(
  body("rate_limit_exceeded"),
  status("rate_limit_exceeded")
) {
  readonly _tag = "RateLimitExceeded"
  /** Sent as the `retry-after` header, not in the body. */
  retryAfter: Duration.Duration | undefined = undefined
  static readonly of = (message: string, retryAfter?: Duration.Duration) => {
    const error = new RateLimitExceeded({ error: { message } })
    error.retryAfter = retryAfter
    return error
  }
}

export class InternalError extends Schema.Error<InternalError>("InternalError")(
  body("internal_error"),
  status("internal_error")
) {
  readonly _tag = "InternalError"
  static readonly of = (message: string) => new InternalError({ error: { message } })
}

/** The errors of a chat request after the caller has been authenticated. */
export type ChatError =
  | InvalidRequest
  | InvalidModel
  | InvalidCallName
  | UnsupportedParameter
  | InsufficientCredits
  | ModelNotAllowed
  | IdempotencyConflict
  | RateLimitExceeded
  | RequestTooLarge
  | InternalError

/** The errors of a transcription after the caller has been authenticated. */
export type TranscriptionError =
  | InvalidRequest
  | InvalidFileFormat
  | FileTooLarge
  | InvalidModel
  | UnsupportedResponseFormat
  | InvalidCallName
  | InvalidEndUserId
  | InsufficientCredits
  | ModelNotAllowed
  | IdempotencyConflict
  | RateLimitExceeded
  | InternalError
