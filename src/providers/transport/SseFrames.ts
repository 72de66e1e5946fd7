/**
 * Bytes of an event stream to frames, for the event streams that providers really send: CRLF, a byte order mark,
 * comments, characters split over packets, a missing last blank line, `retry:` lines. Comments yield no frame. What is
 * pending between packets is bounded.
 */
import { Result } from "effect"
import { Sse } from "effect/encoding"

import { broken, type Failure } from "../../domain/Failure.ts"
import type { ProviderFrame } from "../protocols/Protocol.ts"

/** Characters one event may have. Large enough for an image in base64, small enough to be held. */
const maxEventLength = 8 * 1024 * 1024

export interface FrameParser {
  /** The frames that these packets complete. */
  readonly read: (packets: ReadonlyArray<Uint8Array>) => Result.Result<ReadonlyArray<ProviderFrame>, Failure>
  /** The frame that the end of the stream completes, if its last blank line is missing. */
  readonly end: () => Result.Result<ReadonlyArray<ProviderFrame>, Failure>
}

/** A parser for one stream. */
export const sseParser = (): FrameParser => {
  let frames: Array<ProviderFrame> = []
  const decoder = new TextDecoder()
  const parser = Sse.makeParser(
    (event) => {
      if (event._tag === "Event") frames.push(event)
    },
    { maxEventSize: maxEventLength }
  )
  const feed = (text: string) => parser.feed(text) === undefined
  const taken = () => {
    const ready = frames
    frames = []
    return Result.succeed(ready)
  }
  return {
    read: (packets) =>
      packets.every((packet) => feed(decoder.decode(packet, { stream: true })))
        ? taken()
        : Result.fail(broken("The stream has an event that is too large.")),
    end: () => {
      feed(`${decoder.decode()}\n\n`)
      return taken()
    }
  }
}
