/** What a wire protocol of the sandbox must know: to read a request, and to write an answer or an error. */
import type { Result } from "effect"

import type { JsonObject } from "../domain/JsonObject.ts"
import type { Prompt, Reply } from "./Prompt.ts"

/** Errors that providers word differently. */
export type SimulatedError =
  | { readonly _tag: "Status"; readonly status: number }
  | { readonly _tag: "Invalid"; readonly message: string }
  | { readonly _tag: "Overloaded" }
  | { readonly _tag: "Quota" }
  | { readonly _tag: "Context" }

/** What a stream is made of on the wire. */
export type Bytes = string | Uint8Array

/** One event of a stream, as it goes over the wire. */
export interface StreamPiece<Frame extends Bytes = string> {
  readonly frame: Frame
  /** True when it carries one token of output. */
  readonly isToken: boolean
}

/** An error answer. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
  readonly body: JsonObject
}

export interface SimulatedProtocol<Frame extends Bytes = string> {
  /** Where requests are posted, below the sandbox's own address. */
  readonly path: `/${string}`
  /** The part of `path` that a provider's base URL has. */
  readonly base: `/${string}`
  /** Media type of a stream. Default: server-sent events. */
  readonly media?: string
  /**
   * The prompt, or what a strict provider would say against the request. `body`: JSON or a form; `target`: path and
   * query of the request; `account`: the key it came with.
   */
  readonly read: (body: unknown, target: string, account?: string) => Result.Result<Prompt, string>
  readonly answer: (prompt: Prompt, reply: Reply) => JsonObject
  readonly pieces: (prompt: Prompt, reply: Reply) => ReadonlyArray<StreamPiece<Frame>>
  readonly complain: (complaint: SimulatedError) => ErrorAnswer
  /** The same in the middle of a stream. */
  readonly complainInStream: (complaint: SimulatedError) => Frame
}

/** An event stream's frame. */
export const frame = (data: JsonObject | string, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** Arguments arrive in pieces; two are enough to need assembling. */
export const halves = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}
