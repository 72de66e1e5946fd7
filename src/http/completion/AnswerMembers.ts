/** Members that answers have in every protocol of clients. */
import type { RoutingMetadata } from "../../api/ChatCompletion.ts"
import type { RoutingSummary } from "../../gateway/CompleteChat.ts"

/** The value of the member under the name of the service. */
export const routingBody = (routing: RoutingSummary): RoutingMetadata => ({
  routed: routing.routed,
  routed_model: routing.model,
  routing_latency_ms: routing.latencyMillis
})
