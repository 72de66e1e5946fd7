/**
 * A wire protocol as a pure translation: the gateway's request to the provider's body, and the provider's answer,
 * stream or error to the gateway's events and failures. A protocol knows no URL, key, price or organization.
 *
 * Each protocol has a folder with the same files, so that two of them can be read side by side: `Body` (the types of
 * the request), `Request`, `Content` (the messages in it), `Response`, `Usage`, `Errors`, and a file named for the
 * protocol that puts them together.
 */
import type { Result } from "effect"

import type { Model } from "../../catalog/Model.ts"
import type { DialectName } from "../../catalog/Provider.ts"
import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ChatRequest } from "../../domain/Conversation.ts"
import type { EmbeddingRequest, Embeddings } from "../../domain/Embedding.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"

/** One request to one endpoint. */
export interface WireCall {
  readonly request: ChatRequest
  readonly stream: boolean
  readonly model: Model
  /** The model's name at this provider. */
  readonly upstream: string
  /** The most tokens that this endpoint can produce. */
  readonly maxOutputTokens: number
  readonly dialect: DialectName
  /** `<provider>/<upstream>`: written on reasoning details, and compared when they come back. */
  readonly origin: string
  /** The cache affinity key of the session. It is opaque and already bound to the organization. */
  readonly affinity?: string
}

/** A form with one file. All names in it are the gateway's own, so none of them needs quoting. */
export interface MultipartForm {
  readonly fields: { readonly [name: string]: string }
  readonly file: {
    readonly field: string
    readonly name: string
    /** MIME type. */
    readonly media: string
    readonly bytes: Uint8Array
  }
}

/** How the bytes of a stream are split into frames. */
export type FramingName = "sse" | "aws-event-stream"

/**
 * One HTTP request. A `MultipartForm` is sent as `multipart/form-data`. Any other body is sent as JSON, in which
 * members that are `undefined` do not occur.
 */
export interface WireRequest<Body extends object = object> {
  /** Appended to the provider's base URL. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: Body
  /** The largest answer, where that is more than an answer usually has. */
  readonly maxAnswerBytes?: number
  /** The framing of the answer, if it is a stream. Server-sent events by default. */
  readonly framing?: FramingName
}

/** One event of a stream, whatever framed it. */
export interface ProviderFrame {
  readonly event: string
  readonly data: string
}

/** A provider's answer that is not a success, with its body as far as it was read. */
export interface ErrorResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string | undefined }
  readonly body: string
}

/**
 * Reads one stream. It holds the state of one response, such as open blocks and tool calls, and changes it in place: a
 * new state for each of thousands of frames would have to copy all of that. So each stream needs a reader of its own,
 * gets its frames in order, and is not read on after a failure. `shared/ResponseReader` makes every reader, from rules
 * that each protocol writes down in the same order.
 */
export interface StreamReader {
  /** The events of one frame, or the failure that ends the stream. */
  readonly step: (frame: ProviderFrame) => Result.Result<ReadonlyArray<CompletionEvent>, Failure>
  /** True once the protocol's own end marker was read: the frames that follow do not matter. */
  readonly ended: () => boolean
  /** The last events, once the stream is over; the failure when it broke off before its end. */
  readonly finish: () => Result.Result<ReadonlyArray<CompletionEvent>, Failure>
}

/**
 * What a protocol does with a field of our request. A `refused` field has no counterpart: it is dropped if it is only a
 * hint; otherwise the call is refused before it is made.
 */
export type Treatment = "sent" | "translated" | "refused"
/** One treatment for each field; a protocol that leaves one out does not compile. */
export type FieldTable = { readonly [Field in keyof Required<ChatRequest>]: Treatment }

/** A protocol for models that hold conversations. */
export interface Protocol {
  readonly fields: FieldTable
  /** False where the API takes images only as data: then `encode` is given images as data URIs and no others. */
  readonly takesImageUrls: boolean
  readonly encode: (call: WireCall) => Result.Result<WireRequest, Failure>
  /** A whole answer with a success status, already parsed as JSON. */
  readonly decode: (body: unknown, call: WireCall) => Result.Result<ReadonlyArray<CompletionEvent>, Failure>
  readonly reader: (call: WireCall) => StreamReader
  readonly failure: (response: ErrorResponse) => Failure
}

/** One transcription at one endpoint of a model that does nothing but transcribe. */
export interface TranscriptionWireCall {
  readonly request: TranscriptionRequest
  /** The model's name at this provider. */
  readonly upstream: string
  readonly dialect: DialectName
}

/** A protocol for models that only turn audio into text. */
export interface TranscriptionProtocol {
  /** `length` is missing because it is never sent: it is measured for billing. */
  readonly fields: { readonly [Field in Exclude<keyof TranscriptionRequest, "length">]-?: Treatment }
  readonly encode: (call: TranscriptionWireCall) => WireRequest<MultipartForm>
  /** A whole answer with a success status, already parsed as JSON. */
  readonly decode: (body: unknown) => Result.Result<Transcript, Failure>
  readonly failure: (response: ErrorResponse) => Failure
}

/** The embedding of some inputs at one endpoint. */
export interface EmbeddingWireCall {
  readonly request: EmbeddingRequest
  /** The model's name at this provider. */
  readonly upstream: string
  readonly dialect: DialectName
}

/** A protocol for models that turn texts into vectors. */
export interface EmbeddingProtocol {
  readonly fields: { readonly [Field in keyof Required<EmbeddingRequest>]: Treatment }
  readonly encode: (call: EmbeddingWireCall) => WireRequest
  /** A whole answer with a success status, already parsed as JSON. It has one vector for each input. */
  readonly decode: (body: unknown, request: EmbeddingRequest) => Result.Result<Embeddings, Failure>
  readonly failure: (response: ErrorResponse) => Failure
}
