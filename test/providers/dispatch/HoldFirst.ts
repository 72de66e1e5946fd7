/**
 * The compiler proves that no provider is called for a request without credit on hold. Every call below is a type
 * error, and the type check fails as soon as one of them is allowed.
 */
import { requestId } from "../../../src/domain/Ids.ts"
import type { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import { request, targetOf } from "./FakeTargets.ts"

const id = requestId("018f0000-0000-7000-8000-000000000001")
const targets = [targetOf("a")] as const

export const withoutHold = (dispatch: Dispatch["Service"]) => [
  // @ts-expect-error A plain answer needs a hold.
  dispatch.complete({ request, targets }),
  // @ts-expect-error A stream needs a hold too.
  dispatch.open({ request, targets }),
  // @ts-expect-error A request id is not a hold.
  dispatch.complete({ held: id, request, targets }),
  // @ts-expect-error A text is not a hold either.
  dispatch.open({ held: "018f0000-0000-7000-8000-000000000001", request, targets })
]
