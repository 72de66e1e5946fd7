/**
 * What a wire protocol of the sandbox must provide: reading requests as a strict provider does, and writing replies and
 * errors in the provider's own format. A protocol holds no state and decides nothing about the content of a reply.
 */
import type { Result } from "effect"

import type { JsonObject } from "../domain/JsonObject.ts"
import type { SimulatedReply } from "./SimulatedReply.ts"
import type { SimulatedRequest } from "./SimulatedRequest.ts"

/** Errors that every provider has, each in its own format. */
export type SimulatedError =
  | { readonly _tag: "Status"; readonly status: number }
  | { readonly _tag: "Invalid"; readonly message: string }
  | { readonly _tag: "Overloaded" }
  /** The account has no credit left. */
  | { readonly _tag: "Quota" }
  /** The prompt is longer than the context window. */
  | { readonly _tag: "Context" }

/** A frame of a stream: text for server-sent events, bytes for binary framing. */
export type FrameBytes = string | Uint8Array

/** One event of a stream, as it goes over the wire. */
export interface SimulatedEvent<Frame extends FrameBytes = string> {
  readonly frame: Frame
  /** True when it carries one token of output. */
  readonly isToken: boolean
}

/** An error as the response to a request. */
export interface ErrorReply {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
  readonly body: JsonObject
}

export interface SimulatedProtocol<Frame extends FrameBytes = string> {
  /** The route of its requests on the sandbox's server. */
  readonly path: `/${string}`
  /** The beginning of `path` that belongs to a provider's base URL. */
  readonly basePath: `/${string}`
  /** The media type of a stream. It is that of server-sent events if this is left out. */
  readonly streamMediaType?: string
  /**
   * Reads a request, or fails with the message of a strict provider that refuses it. `body` is JSON or a form, `target`
   * the path and query of the request, and `account` the API key that it came with.
   */
  readonly readRequest: (body: unknown, target: string, account?: string) => Result.Result<SimulatedRequest, string>
  /** The body of a plain response. */
  readonly body: (request: SimulatedRequest, reply: SimulatedReply) => JsonObject
  /** The events of a stream, the last one included. */
  readonly events: (request: SimulatedRequest, reply: SimulatedReply) => ReadonlyArray<SimulatedEvent<Frame>>
  readonly error: (error: SimulatedError) => ErrorReply
  /** The same error in the middle of a stream. */
  readonly errorEvent: (error: SimulatedError) => Frame
}

/** The frame of a server-sent event. */
export const serverSentEvent = (data: JsonObject | string, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** A text in two parts. The arguments of a tool call are streamed in two, so that clients have to assemble them. */
export const halves = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}
