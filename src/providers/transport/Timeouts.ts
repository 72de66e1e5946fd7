/** How long a call to a provider may take, phase by phase. Each limit turns into a failure that may fail over. */
import { Duration } from "effect"

export interface Timeouts {
  /** Until the socket is open, TLS included. Kept by the connection pool, on the machine's clock. */
  readonly connect: Duration.Duration
  /** Until the headers of a streamed answer. */
  readonly firstByte: Duration.Duration
  /** Until the headers of a plain answer, which many providers send only when the answer is complete. */
  readonly firstBytePlain: Duration.Duration
  /** Until a stream's first output. Comments and pings do not count. */
  readonly firstOutput: Duration.Duration
  /** Between two packets while we wait for one. Comments and pings count as life. */
  readonly silence: Duration.Duration
  /** From sending the request to the last byte. */
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
