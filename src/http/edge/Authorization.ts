/** Has requests admitted before HttpApi calls their handlers, and tells these who the caller is. */
import { Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"

import { Authorization, CurrentCaller } from "../../api/Api.ts"
import { type EndpointName, endpointNames } from "../../domain/Caller.ts"
import { Admission, type Credentials } from "./Admission.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

export const authorizationLayer = Layer.effect(
  Authorization,
  Effect.map(Admission, ({ admit }) =>
    Authorization.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint, group }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const credentials = credentialsIn(request, credential, group.identifier)
        const caller = yield* admit(credentials, endpointNameOf(group.identifier, endpoint.identifier)).pipe(
          ResponseHeaders.withRetryAfter
        )
        return yield* Effect.provideService(httpEffect, CurrentCaller, caller)
      })
    })
  )
)

/** The groups of endpoints that clients of Anthropic call. */
const keysInOwnHeader: ReadonlySet<string> = new Set(["messages", "models"])

/**
 * Clients of Anthropic send a key in a header of their own, and may send a token of another service beside it. So that
 * header is read where the other one has no valid key.
 */
const credentialsIn = (
  { headers }: HttpServerRequest.HttpServerRequest,
  credential: Redacted.Redacted,
  group: string
): Credentials => {
  const key = keysInOwnHeader.has(group) ? headers["x-api-key"] : undefined
  return key === undefined ? [credential] : [credential, Redacted.make(key)]
}

/** The name by which an allowlist knows an endpoint: a group has one name, or each endpoint of it has its own. */
const endpointNameOf = (group: string, endpoint: string): EndpointName | undefined =>
  endpointNames.find((known) => known === group || known === `${group}.${endpoint}`)
