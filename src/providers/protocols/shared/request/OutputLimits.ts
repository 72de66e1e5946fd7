/** How many tokens a call may produce, visible and reasoning tokens together. */
import type { WireCall } from "../../Protocol.ts"

/** What the client allows, or else everything; never more than the endpoint can produce. */
export const outputLimit = (call: WireCall): number =>
  Math.min(call.request.maxOutputTokens ?? call.maxOutputTokens, call.maxOutputTokens)

/** The limit for APIs that need none: `undefined` when the client did not set one. */
export const requestedOutputLimit = (call: WireCall): number | undefined =>
  call.request.maxOutputTokens === undefined ? undefined : outputLimit(call)
