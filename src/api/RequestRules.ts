/**
 * What routes of clients and of operators share: how their requests are checked, and times.
 *
 * The rule: a member or a query parameter that is not declared is an error, because a misspelt limit that is ignored
 * would leave a key without one.
 */
import { Context, Schema } from "effect"
import { HttpApi, HttpApiMiddleware } from "effect/http-api"

import * as Errors from "./Errors.ts"

/** Answers a request that its schema refuses with the field and the rule. */
export class RequestValidation extends HttpApiMiddleware.Service<RequestValidation>()(
  "tollgate/api/RequestValidation",
  {
    error: [Errors.InvalidRequest, Errors.InternalError]
  }
) {}

/** Undeclared members of bodies and undeclared query parameters are refused. */
export const strictBodies = Context.make(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }).pipe(
  Context.add(HttpApi.QueryParseOptions, { onExcessProperty: "error" })
)

/** A point in time on the wire, such as `2026-11-22T09:30:00.000Z`. */
export const Time = Schema.DateTimeUtcFromString.annotate({ description: "ISO 8601." })
