/**
 * How clients speak to the gateway: a protocol reads a request from its wire form and writes its answer. The same use
 * case is behind all of them, so that routing, holds, failover, receipts and limits cannot differ between them.
 */
import type { Result } from "effect"
import type { Headers } from "effect/http"

import type {
  InvalidCallName,
  InvalidEndUserId,
  InvalidModel,
  InvalidRequest,
  UnsupportedParameter
} from "../../api/Errors.ts"
import type { EndpointName } from "../../domain/Caller.ts"
import type { RequestId } from "../../domain/Ids.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"
import type { PlainAnswer, StreamedAnswer } from "../../gateway/CompleteChat.ts"
import type { Delta } from "../../gateway/Meter.ts"
import type { LastItem } from "../../gateway/Settlement.ts"

/** What the meaning of a request depends on beside its body. */
export interface RequestContext {
  /** `<service>-auto`, the model name that lets the router choose. */
  readonly autoModel: string
  /** The value of the header `x-session-id`. */
  readonly sessionHeader: string | undefined
  /** The value of the header `x-end-user-id`. */
  readonly endUserHeader?: string | undefined
}

export type BodyError = InvalidRequest | InvalidModel | InvalidCallName | InvalidEndUserId | UnsupportedParameter

/** A body that was read and checked. */
export interface ReadBody<Asked> {
  readonly input: ChatInput
  /** What only the answer in this protocol needs of the request. */
  readonly asked: Asked
}

/** The members that an answer, or all events of one, have in common. */
export interface Envelope {
  readonly id: RequestId
  readonly createdSeconds: number
  readonly serviceName: string
  /** `system_fingerprint`: identifies the catalog version. Published clients require a string. */
  readonly fingerprint: string
}

/** What is known of a streamed answer when it begins, which may be that no model answered. */
export type StreamHead = Omit<StreamedAnswer, "items" | "model"> & { readonly model: string }

/**
 * Encodes one streamed answer. Every text consists of whole events, and the first one begins with those that open the
 * stream, also where it is the last one.
 */
export interface StreamEncoder {
  readonly deltas: (deltas: ReadonlyArray<Delta>) => string
  /** Ends the stream: with the usage and the charge of a settled answer, or with the error of a broken one. */
  readonly last: (item: LastItem) => string
}

export interface ClientProtocol<Asked> {
  /** The name of its endpoint in allowlists, and that to which an `Idempotency-Key` belongs. */
  readonly endpoint: EndpointName
  readonly read: (
    body: string,
    context: RequestContext,
    headers: Headers.Headers
  ) => Result.Result<ReadBody<Asked>, BodyError>
  /** The body of a plain answer, to be written as JSON. */
  readonly plain: (envelope: Envelope, answer: PlainAnswer, asked: Asked) => object
  readonly stream: (envelope: Envelope, head: StreamHead, asked: Asked) => StreamEncoder
  /** What is sent during a silence: clients skip it, and load balancers see that the connection is alive. */
  readonly keepAlive: string
}
