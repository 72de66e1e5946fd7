/**
 * One line for each request, at `Info`, in a form that tools read: the message is always `Request`, and everything else
 * is an annotation. Whoever learns a fact about a request puts it into its record; the line is written when the last
 * byte of the answer has been sent. It holds ids, numbers and names of the catalog, and nothing that a client wrote but
 * the name of a model.
 */
import { Context, Effect, References } from "effect"

import type { ApiKeyId, EndpointId, ModelId, OrganizationId, ProviderId, RequestId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import { withoutSecrets } from "../domain/Redaction.ts"
import { promptTokens, type Usage } from "../domain/Usage.ts"

/** What became of a request that was billed, or could have been. */
export interface BilledCall {
  readonly requestedModel?: string
  readonly routed: boolean
  /** Whether the pinned model of the session came first. Absent on a direct call. */
  readonly pinned?: boolean
  /** Who answered. */
  readonly served?: { readonly model: ModelId; readonly endpoint: EndpointId; readonly provider: ProviderId }
  readonly attempts: number
  /** `completed`, `client_left`, `broken`, or the error code that was sent. */
  readonly outcome: string
  readonly stream: boolean
  readonly firstOutputMillis?: number
  /** How long the router took; absent on a direct call. */
  readonly routingMillis?: number
  readonly usage?: Usage
  readonly cost: Picodollars
}

/** What is known of a request so far. */
export interface AccessRecord {
  /** It is sent back as `x-request-id` and names the hold, the charge and the receipt. */
  readonly request: RequestId
  readonly method: string
  readonly startedAtMillis: number
  /** What other log lines of the request say beside their message. */
  readonly annotations: { readonly request: RequestId; organization?: OrganizationId }
  caller?: { readonly organization: OrganizationId; readonly key: ApiKeyId }
  call?: BilledCall
  /** Of the answer, as soon as there is one. */
  status?: number
  /** Nobody waits for its answer any more: its client left, or the gateway stops. */
  interrupted?: true
  /** What the response to it has, whether that will be an answer or an error. */
  responseHeaders?: { readonly [name: string]: string }
}

/** The record of the current request; `undefined` outside a request. */
export const CurrentAccessRecord = Context.Reference<AccessRecord | undefined>(
  "tollgate/observability/AccessLog/CurrentAccessRecord",
  { defaultValue: () => undefined }
)

/** How a request ended. */
export interface RequestEnd {
  /** The pattern of the route, such as `/v1/models/:id`; `undefined` where there is none. */
  readonly route: string | undefined
  readonly nowMillis: number
  /** The client disconnected before its answer was complete. */
  readonly leftByClient: boolean
}

/** The status that servers log for a client that left before it was answered. It is never sent. */
const clientClosedRequest = 499
const longestModelName = 128

/**
 * Writes the line of a request that has ended. Probes and scrapes come every few seconds, so theirs are written at
 * `Debug`.
 */
export const logAccess = (record: AccessRecord, end: RequestEnd): Effect.Effect<void> =>
  Effect.updateService(
    end.route?.startsWith("/health/") || end.route === "/metrics"
      ? Effect.logDebug("Request")
      : Effect.logInfo("Request"),
    References.CurrentLogAnnotations,
    (ofProcess) => ({ ...ofProcess, ...annotationsOf(record, end) })
  )

/** The status of the answer, or what stands for it if there was none. */
export const statusOf = ({ status }: AccessRecord, { leftByClient }: RequestEnd): number =>
  status ?? (leftByClient ? clientClosedRequest : 500)

const annotationsOf = (record: AccessRecord, end: RequestEnd) => {
  const { call, caller, method, request, startedAtMillis } = record
  const { leftByClient, nowMillis, route } = end
  const status = statusOf(record, end)
  return {
    request,
    method,
    route: route ?? "none",
    status,
    ...outcomeOf(call, status, leftByClient),
    durationMillis: nowMillis - startedAtMillis,
    ...caller,
    ...(call !== undefined && callAnnotations(call))
  }
}

/** The outcome of a stream is not its status, which was sent before. */
export const outcomeOf = (call: BilledCall | undefined, status: number, leftByClient: boolean) => {
  if (call === undefined) return { outcome: leftByClient ? "aborted" : status < 400 ? "completed" : "failed" }
  if (call.outcome === "completed") return { outcome: "completed" }
  return call.outcome === "client_left" ? { outcome: "aborted" } : { outcome: "failed", error: call.outcome }
}

const callAnnotations = (call: BilledCall) => ({
  ...(call.requestedModel !== undefined && {
    requestedModel: withoutSecrets(call.requestedModel.slice(0, longestModelName))
  }),
  routed: call.routed,
  ...(call.pinned !== undefined && { pinned: call.pinned }),
  ...call.served,
  attempts: call.attempts,
  stream: call.stream,
  ...(call.stream && call.firstOutputMillis !== undefined && { firstOutputMillis: call.firstOutputMillis }),
  ...(call.usage !== undefined && { inputTokens: promptTokens(call.usage), outputTokens: call.usage.output }),
  // Tools add up numbers, not text. Up to 9,007 USD, far beyond any request, the number is exact.
  costPicodollars: Number(call.cost)
})
