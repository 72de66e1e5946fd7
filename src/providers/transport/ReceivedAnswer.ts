/** What a provider's answer is, and how its headers and its collected body are read. */
import { Effect } from "effect"

import { broken, type Failure } from "../../domain/Failure.ts"
import type { PacketSource } from "../../domain/PacketSource.ts"
import type { ErrorResponse, ProviderFrame } from "../protocols/Protocol.ts"

/** The frames of a stream, as they arrive. */
export interface ReceivedFrames extends Omit<PacketSource<ProviderFrame, never>, "end"> {
  /** Once they are over: why the stream broke off, if it did. */
  readonly failure: () => Failure | undefined
  /** To be called at the first output, which has a time limit. */
  readonly outputBegan: () => void
  /** What follows in the stream does not matter: the response is read to its end, so that its socket is kept. */
  readonly readRest: () => void
}

/** A provider's answer to a request for a stream. Some answer with one JSON body instead. */
export type OpenedAnswer =
  | { readonly _tag: "Frames"; readonly frames: ReceivedFrames }
  | { readonly _tag: "Json"; readonly body: unknown }

/** Names in lower case. A header that came several times has several values. */
export type ReceivedHeaders = Readonly<Record<string, string | Array<string> | undefined>>

/** The media type without its parameters; empty when none is given. */
export const mediaOf = ({ "content-type": type }: ReceivedHeaders): string =>
  (Array.isArray(type) ? type[0] : type)?.split(";", 1)[0]?.trim().toLowerCase() ?? ""

/** True for the media type of a JSON body. An answer without a type may be one. */
export const isJson = (media: string): boolean =>
  media === "" || media === "application/json" || media.endsWith("+json")

/** The values of a header that came several times, as one. */
export const joined = (headers: ReceivedHeaders): ErrorResponse["headers"] =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value])
  )

export const bodyText = (body: ReadonlyArray<Uint8Array>): string => new TextDecoder().decode(Buffer.concat(body))

/** A plain answer whose body is complete. */
export const jsonAnswer = (body: ReadonlyArray<Uint8Array>): Effect.Effect<OpenedAnswer, Failure> => {
  try {
    const value: unknown = JSON.parse(bodyText(body))
    return Effect.succeed({ _tag: "Json", body: value })
  } catch {
    return Effect.fail(broken("The provider's answer is not JSON."))
  }
}
