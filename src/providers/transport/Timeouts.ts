/**
 * How long each phase of a call to a provider may take. A call that takes longer fails, and another target is tried.
 */
import { Duration } from "effect"

export interface Timeouts {
  /**
   * Until the socket is open, TLS included. The connection pool enforces this one, so a test clock does not move it.
   */
  readonly connect: Duration.Duration
  /** Until the headers of a streamed answer arrive. */
  readonly firstByte: Duration.Duration
  /** Until the headers of a plain answer arrive. Many providers send them only when the answer is complete. */
  readonly firstBytePlain: Duration.Duration
  /** Until the first output of a stream arrives. Comments and pings do not count as output. */
  readonly firstOutput: Duration.Duration
  /** Between two packets, while we wait for the second. Comments and pings end the silence. */
  readonly silence: Duration.Duration
  /** From the start of the request to the last byte of the answer. */
  readonly call: Duration.Duration
}

export const defaultTimeouts: Timeouts = {
  connect: Duration.seconds(10),
  firstByte: Duration.seconds(120),
  firstBytePlain: Duration.seconds(600),
  firstOutput: Duration.seconds(300),
  silence: Duration.seconds(120),
  call: Duration.minutes(15)
}
