/**
 * The ways in which providers cut a streamed answer into frames. Which one it is belongs to neither protocol nor
 * transport: a protocol reads frames, the transport moves bytes, and the answer's media type has to be the framing's.
 */
import type { FramingName } from "../protocols/Protocol.ts"
import * as EventStreamFrames from "./EventStreamFrames.ts"
import * as SseFrames from "./SseFrames.ts"

export interface Framing {
  readonly media: string
  /** A parser for one stream. */
  readonly make: () => SseFrames.FrameParser
}

export const framings: { readonly [Name in FramingName]: Framing } = {
  sse: { media: "text/event-stream", make: SseFrames.sseParser },
  "aws-event-stream": { media: "application/vnd.amazon.eventstream", make: EventStreamFrames.eventStreamParser }
}
