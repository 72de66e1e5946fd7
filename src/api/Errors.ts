/**
 * The errors that a client can get, of the closed list in `ErrorTable.ts`. The schema fields of each class are the wire
 * body, `{ error: { code, message } }`. `_tag` is a plain class field: errors can be caught by it, and it is never
 * sent.
 */
import { type Duration, Schema } from "effect"

import { type ErrorCode, errorTable } from "./ErrorTable.ts"

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

export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(
  body("request_timeout"),
  status("request_timeout")
) {
  readonly _tag = "RequestTimeout"
  static readonly of = (message: string) => new RequestTimeout({ error: { message } })
}

export class ResourceConflict extends Schema.Error<ResourceConflict>("ResourceConflict")(
  body("conflict"),
  status("conflict")
) {
  readonly _tag = "ResourceConflict"
  static readonly of = (message: string) => new ResourceConflict({ error: { message } })
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

export class BudgetExceeded extends Schema.Error<BudgetExceeded>("BudgetExceeded")(
  body("budget_exceeded"),
  status("budget_exceeded")
) {
  readonly _tag = "BudgetExceeded"
  /**
   * Present if the budget is spent, and not only held: then it is of no use to try again before it renews. Sent as
   * headers, not in the body.
   */
  spent: { readonly renewsAtMillis: number | undefined } | undefined = undefined
  static readonly of = (message: string, spent?: { readonly renewsAtMillis: number | undefined }) => {
    const error = new BudgetExceeded({ error: { message } })
    error.spent = spent
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

/** The errors that every request to a model declares whose body is JSON, beside those of the authorization. */
export const modelRequestErrors = [
  InvalidRequest,
  InvalidModel,
  InvalidCallName,
  InvalidEndUserId,
  UnsupportedParameter,
  InsufficientCredits,
  BudgetExceeded,
  ModelNotAllowed,
  RequestTimeout,
  IdempotencyConflict,
  RequestTooLarge
] as const

/** The errors of a chat request after the caller has been authenticated. */
export type ChatError =
  | InvalidRequest
  | InvalidModel
  | InvalidCallName
  | InvalidEndUserId
  | UnsupportedParameter
  | InsufficientCredits
  | BudgetExceeded
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
  | BudgetExceeded
  | ModelNotAllowed
  | IdempotencyConflict
  | RateLimitExceeded
  | InternalError

/** The errors of a request for embeddings after the caller has been authenticated. */
export type EmbeddingError = ChatError
