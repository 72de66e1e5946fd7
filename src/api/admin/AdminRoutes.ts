/** What all routes of operators share: who may use them, their errors, the shape of their lists, and amounts. */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"

import * as Errors from "../Errors.ts"

/** Who makes the current request. */
export interface AdminCaller {
  readonly name: string
  /** Absent for the key of the gateway's environment. */
  readonly keyId?: string
}

export class CurrentAdmin extends Context.Service<CurrentAdmin, AdminCaller>()("tollgate/api/admin/CurrentAdmin") {}

/** What any of the routes may answer in place of its result. */
const adminErrors = [
  Errors.Unauthorized,
  Errors.InvalidRequest,
  Errors.NotFound,
  Errors.ResourceConflict,
  Errors.IdempotencyConflict,
  Errors.InternalError
] as const

const adminKey = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotateMerge(OpenApi.annotations({ description: "An admin key of this gateway." }))
)

/** Identifies the operator by the admin key. A request is refused before any of its body is read. */
export class AdminAuthorization extends HttpApiMiddleware.Service<
  AdminAuthorization,
  { provides: CurrentAdmin; requires: never }
>()("tollgate/api/AdminAuthorization", {
  security: { admin: adminKey },
  error: adminErrors
}) {}

/** What an operation does, in a few words, for the published document. */
export const summary = (text: string) => OpenApi.annotations({ summary: text })

const maxPage = 200
export const defaultPage = 50

/** The query of a list. */
export const PageQuery = Schema.Struct({
  limit: Schema.optionalKey(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: maxPage })).annotate({
      description: `Items per page, 1 to ${maxPage}; ${defaultPage} if left out.`
    })
  ),
  cursor: Schema.optionalKey(
    Schema.String.check(Schema.isUUID()).annotate({ description: "`next_cursor` of the page before." })
  )
})

/** A page of a list. */
export const listOf = <S extends Schema.Top>(item: S) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(item),
    next_cursor: Schema.NullOr(Schema.String).annotate({
      description: "Where the next page begins, for its `cursor`; null on the last page."
    })
  })

/** A boolean in a query. */
export const BooleanText = Schema.Literals(["true", "false"])

export const RequestsPerMinute = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000_000 }))
export const ConcurrentRequests = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))

export const TokensPerMinute = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** A name that people give: 1 to 200 characters that are not only white space. */
export const Name = Schema.String.check(
  Schema.makeFilter((text) => text.trim() !== "" && [...text].length <= 200, {
    expected: "text of 1 to 200 characters that is not only white space"
  })
)

/** An exact decimal amount of USD, such as `0.0123`; it may be negative. */
export const UsdAmount = Schema.String.check(
  Schema.isPattern(/^-?\d{1,6}(\.\d{1,12})?$/, { expected: 'an amount of USD as text, such as "12.5"' })
).annotate({ description: "USD as an exact decimal." })
