/**
 * A wire protocol as a pure translation: the gateway's request to the provider's body, the provider's answer, stream or
 * error to the gateway's events and failures. A protocol knows no URL, key, price or organization.
 *
 * All protocol files have the same sections in the same order (fields, request body, response, stream step, finish,
 * errors, protocol), so that two of them can be read side by side.
 */
import type { Result } from "effect"

import type { Model } from "../../catalog/Model.ts"
import type { DialectName } from "../../catalog/Provider.ts"
import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ChatRequest } from "../../domain/Conversation.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"

/** One request to one endpoint. */
export interface WireCall {
  readonly request: ChatRequest
  readonly stream: boolean
  readonly model: Model
  /** The model's name at this provider. */
  readonly upstream: string
  readonly maxOutputTokens: number
  readonly dialect: DialectName
  /** Stamped on reasoning details, and compared when they come back: `<provider>/<upstream>`. */
  readonly origin: string
  /** Opaque cache affinity key of the session, already bound to the organization. */
  readonly affinity?: string
}

/** A form with one file. All names in it are the gateway's own words and hold nothing that needs quoting. */
export interface MultipartForm {
  readonly fields: { readonly [name: string]: string }
  readonly file: {
    readonly field: string
    readonly name: string
    readonly media: string
    readonly bytes: Uint8Array
  }
}

/** How bytes of a stream become frames. */
export type FramingName = "sse" | "aws-event-stream"

/** `Body`: an object goes as JSON, a form as `multipart/form-data`. */
export interface WireRequest<Body extends object = object> {
  /** Appended to the provider's base URL. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: Body
  /** Of the answer, if it is a stream. Default: server-sent events. */
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

/** Reads one stream. Made per response; its state never leaves it. */
export interface StreamReader {
  /** The events of one frame, or the failure that ends the stream. */
  readonly step: (frame: ProviderFrame) => Result.Result<ReadonlyArray<CompletionEvent>, Failure>
  /** True once the protocol's own end marker was seen: later frames do not matter. */
  readonly ended: () => boolean
  /** Called at the end of the stream: the closing events, or the failure when it broke off. */
  readonly finish: () => Result.Result<ReadonlyArray<CompletionEvent>, Failure>
}

/**
 * What a protocol does with each field of our request; the compiler refuses a protocol that leaves one out. A `refused`
 * field cannot be expressed: it is left out when it is only a hint, and the target refuses the call when it is not.
 */
export type Treatment = "sent" | "translated" | "refused"
export type FieldTable = { readonly [Field in keyof Required<ChatRequest>]: Treatment }

export interface Protocol {
  readonly fields: FieldTable
  /** False where images go as bytes only: then `encode` sees none but data URIs. */
  readonly takesImageUrls: boolean
  readonly encode: (call: WireCall) => Result.Result<WireRequest, Failure>
  /** A whole answer with a success status, already parsed as JSON. */
  readonly decode: (body: unknown, call: WireCall) => Result.Result<ReadonlyArray<CompletionEvent>, Failure>
  readonly reader: (call: WireCall) => StreamReader
  readonly failure: (response: ErrorResponse) => Failure
}

/** One transcription at one endpoint that does nothing else. */
export interface SpeechCall {
  readonly request: TranscriptionRequest
  /** The model's name at this provider. */
  readonly upstream: string
  readonly dialect: DialectName
}

/** A protocol for models that only turn audio into text. */
export interface TranscriptionProtocol {
  /** The length is measured for our own books. */
  readonly fields: { readonly [Field in Exclude<keyof TranscriptionRequest, "length">]-?: Treatment }
  readonly encode: (call: SpeechCall) => WireRequest<MultipartForm>
  /** A whole answer with a success status, already parsed as JSON. */
  readonly decode: (body: unknown) => Result.Result<Transcript, Failure>
  readonly failure: (response: ErrorResponse) => Failure
}
