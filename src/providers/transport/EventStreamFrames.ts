/**
 * Parses an AWS event stream into frames. The stream is a sequence of binary messages, each with a length, typed
 * headers, a payload and two checksums. A wrong checksum, or an end within a message, breaks the stream. The bytes that
 * are kept between packets are bounded.
 */
import { crc32 } from "node:zlib"

import { EventStreamCodec } from "@smithy/eventstream-codec"
import { Result } from "effect"

import { broken, type Failure } from "../../domain/Failure.ts"
import type { ProviderFrame } from "../protocols/Protocol.ts"
import type { FrameParser } from "./SseFrames.ts"

/** The largest message, in bytes: enough for an image in base64, and little enough to keep in memory. */
const maxMessageBytes = 8 * 1024 * 1024
/** The length of the message, the length of its headers, and the checksum of both: four bytes each. */
const preludeBytes = 12
/** A message with neither headers nor payload: the prelude, and the checksum of the whole message. */
const minMessageBytes = 16

const damaged = broken("The stream has a message that is damaged.")

const decoder = new TextDecoder()
const encoder = new TextEncoder()
const textOf = (bytes: Uint8Array | string): string => (typeof bytes === "string" ? bytes : decoder.decode(bytes))
const codec = new EventStreamCodec(textOf, (text) => encoder.encode(text))

/** Makes a parser for one stream. */
export const eventStreamParser = (): FrameParser => {
  let chunks: Array<Uint8Array> = []
  let size = 0
  /** How many bytes must be there before the next step: those of a prelude, or of the message that it announced. */
  let needed = preludeBytes

  const take = (frames: Array<ProviderFrame>): Failure | undefined => {
    const bytes = Buffer.concat(chunks)
    let at = 0
    while (bytes.length - at >= needed) {
      if (needed === preludeBytes) {
        const length = lengthIn(bytes.subarray(at, at + preludeBytes))
        if (length === undefined) return damaged
        if (length > maxMessageBytes) return broken("The stream has a message that is too large.")
        needed = length
      } else {
        const frame = frameIn(bytes.subarray(at, at + needed))
        if (Result.isFailure(frame)) return frame.failure
        frames.push(frame.success)
        at += needed
        needed = preludeBytes
      }
    }
    chunks = [bytes.subarray(at)]
    size = bytes.length - at
    return undefined
  }

  return {
    read: (packets) => {
      const frames: Array<ProviderFrame> = []
      for (const packet of packets) {
        chunks.push(packet)
        size += packet.length
        const failure = size < needed ? undefined : take(frames)
        if (failure !== undefined) return Result.fail(failure)
      }
      return Result.succeed(frames)
    },
    end: () => (size === 0 ? Result.succeed([]) : Result.fail(broken("The stream broke off within a message.")))
  }
}

/** The length of a message. The checksum is verified first, because a message of a wrong length might never end. */
const lengthIn = (prelude: Buffer): number | undefined => {
  const length = prelude.readUInt32BE(0)
  const isIntact = crc32(prelude.subarray(0, 8)) === prelude.readUInt32BE(8)
  return isIntact && length >= minMessageBytes ? length : undefined
}

type Message = ReturnType<typeof codec.decode>

const frameIn = (bytes: Uint8Array): Result.Result<ProviderFrame, Failure> =>
  Result.map(Result.try({ try: () => codec.decode(bytes), catch: () => damaged }), (message) => frameOf(message))

/**
 * An exception has a type of its own and a payload, as an event has. An error has only headers: a code and a message.
 */
const frameOf = (message: Message): ProviderFrame => {
  switch (header(message, ":message-type")) {
    case "exception":
      return { event: header(message, ":exception-type"), data: textOf(message.body) }
    case "error":
      return {
        event: "error",
        data: JSON.stringify({ code: header(message, ":error-code"), message: header(message, ":error-message") })
      }
    default:
      return { event: header(message, ":event-type"), data: textOf(message.body) }
  }
}

const header = ({ headers }: Message, name: string): string => {
  const found = headers[name]
  return found?.type === "string" ? found.value : ""
}
