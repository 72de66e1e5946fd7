/**
 * Parses server-sent events into frames. It accepts what providers really send: CRLF, a byte order mark, comments,
 * characters split over packets, a missing last blank line, `retry:` lines. Comments produce no frame. The text that is
 * kept between packets is bounded.
 */
import { Result } from "effect"
import { Sse } from "effect/encoding"

import { broken, type Failure } from "../../domain/Failure.ts"
import type { ProviderFrame } from "../protocols/Protocol.ts"

/** The longest event, in characters: enough for an image in base64, and little enough to keep in memory. */
const maxEventLength = 8 * 1024 * 1024

export interface FrameParser {
  /** The frames that these packets complete. */
  readonly read: (packets: ReadonlyArray<Uint8Array>) => Result.Result<ReadonlyArray<ProviderFrame>, Failure>
  /** The frame that the end of the stream completes, if its last blank line is missing. */
  readonly end: () => Result.Result<ReadonlyArray<ProviderFrame>, Failure>
}

/** Makes a parser for one stream. */
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
