/** The id of the request in hand: sent back as `x-request-id`, and the key of its hold, its charge and its receipt. */
import { Context } from "effect"

import { type RequestId, requestId } from "../../domain/Ids.ts"

export const CurrentRequest = Context.Reference<RequestId>("tollgate/http/CurrentRequest", {
  // Only seen outside a request, where nothing is billed.
  defaultValue: () => requestId("00000000-0000-0000-0000-000000000000")
})
