/** Members that answers have in every protocol of clients. */
import type { RoutingMetadata } from "../../api/ChatCompletion.ts"
import type { RoutingSummary } from "../../gateway/CompleteChat.ts"
import type { StreamHead } from "./ClientProtocol.ts"

/** The value of the member under the name of the service. */
export const routingBody = (routing: RoutingSummary): RoutingMetadata => ({
  routed: routing.routed,
  routed_model: routing.model,
  routing_latency_ms: routing.latencyMillis
})

/** What the model that answered did not get at all; belongs beside the routing. */
export const droppedBody = ({ dropped = [] }: Pick<StreamHead, "dropped">) => (dropped.length > 0 ? { dropped } : {})

/** The same with all that was changed, for streams: their header may have gone out before the model was known. */
export const adjustedBody = (answer: Pick<StreamHead, "adjustments" | "dropped">) => ({
  ...(answer.adjustments.length > 0 && { adjusted: answer.adjustments }),
  ...droppedBody(answer)
})
