/** Checks admin keys, and answers requests that their schema refuses. */
import { Effect, Layer } from "effect"
import { HttpApiMiddleware } from "effect/http-api"

import { AdminKeys } from "../../access/AdminKeys.ts"
import { CurrentActor } from "../../access/AuditTrail.ts"
import { AdminAuthorization, CurrentAdmin } from "../../api/admin/AdminRoutes.ts"
import { InternalError, InvalidRequest, Unauthorized } from "../../api/Errors.ts"
import { RequestValidation } from "../../api/RequestRules.ts"
import { describeFault } from "../../observability/ErrorDescription.ts"
import { firstIssue } from "../edge/SchemaIssues.ts"

const notAnAdmin =
  "This route takes an admin key: ADMIN_API_KEY of the gateway, or one that was issued under /admin/v1/admin_keys"

/** The changes of a request are recorded under the name of its key. */
export const adminAuthorizationLayer = Layer.effect(
  AdminAuthorization,
  Effect.gen(function* () {
    const keys = yield* AdminKeys
    return AdminAuthorization.of({
      admin: Effect.fnUntraced(function* (httpEffect, { credential }) {
        const actor = yield* keys.authenticate(credential).pipe(
          Effect.catchReasons("AccessError", {
            Unavailable: ({ cause }) =>
              Effect.andThen(
                Effect.annotateLogs(Effect.logError("Admin keys could not be looked up"), {
                  cause: describeFault(cause)
                }),
                Effect.fail(InternalError.of("The admin key could not be checked; try again"))
              )
          }),
          Effect.catchTag("AccessError", () => Effect.fail(Unauthorized.of(notAnAdmin)))
        )
        const admin = { name: actor.name, ...(actor.key !== undefined && { keyId: actor.key }) }
        return yield* httpEffect.pipe(
          Effect.provideService(CurrentAdmin, admin),
          Effect.provideService(CurrentActor, actor)
        )
      })
    })
  })
)

/** Names the place and the rule. What does not fit our own answers is our fault, and is logged. */
export const requestValidationLayer = HttpApiMiddleware.layerSchemaErrorTransform(RequestValidation, (error) =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.andThen(
        Effect.annotateLogs(Effect.logError("An answer does not fit its schema"), {
          cause: describeFault(error.cause)
        }),
        Effect.fail(InternalError.of("Unexpected server error"))
      )
    : Effect.fail(InvalidRequest.of(firstIssue(error.cause) ?? `The ${error.kind.toLowerCase()} is not valid`))
)
