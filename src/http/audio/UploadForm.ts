/**
 * Reads a `multipart/form-data` body while it arrives. The rule: the memory of one upload is bounded by what its parts
 * may have, however it is cut into packets; what nobody asked for is counted and dropped.
 */
import { Duration, Effect, Result, Stream } from "effect"
import { type HttpServerError, type HttpServerRequest, MultipartParser } from "effect/http"

import { InvalidRequest } from "../../api/Errors.ts"
import * as ResponseHeaders from "../edge/ResponseHeaders.ts"

/** A part of the form, as far as it was received. */
export interface FormPart {
  /** `undefined` when it was not sent as a file. */
  readonly filename: string | undefined
  /** Bytes received. */
  readonly size: number
  /** The content, or nothing when it has more bytes than are kept of such a part. */
  readonly bytes: Uint8Array
  /** Parts of this name in the form; the first of them is this one. */
  readonly times: number
}

export interface UploadedForm {
  readonly parts: ReadonlyMap<string, FormPart>
  /** False when the form has more than `maxFormBytes`: what comes after them is not known. */
  readonly complete: boolean
}

/** How many bytes of a part are kept; `undefined` when nobody wants to know of it. */
export type PartLimit = (name: string, filename: string | undefined) => number | undefined

/** Bytes of a form, with its boundaries and headers and with what is dropped. */
export const maxFormBytes = 32 * 1024 * 1024
export const maxParts = 64
/** A client that sends nothing for so long is given up. */
const longestSilence = Duration.seconds(10)
/** And so is one that drips. Node's own limit comes after it, and would close the connection without a word. */
const longestUpload = Duration.seconds(290)

/** The form that a request carries. Refuses what is no form, and a client that stops sending. */
export const readUpload = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  wanted: PartLimit
) {
  const contentType = request.headers["content-type"] ?? ""
  if (!/^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)) {
    return yield* InvalidRequest.of("The request body must be multipart/form-data, with the audio in the file `file`")
  }
  const reader = new FormReader(contentType, wanted, Number(request.headers["content-length"] ?? Number.NaN))
  yield* request.stream.pipe(
    Stream.mapError(unreadable),
    Stream.timeoutOrElse({ duration: longestSilence, orElse: () => Stream.fromEffect(stalled) }),
    Stream.runForEachWhile((bytes) =>
      Effect.suspend(() => (reader.write(bytes) ? Effect.succeed(true) : Effect.as(lastOfConnection, false)))
    ),
    Effect.timeoutOrElse({ duration: longestUpload, orElse: () => tooSlow })
  )
  return yield* Effect.fromResult(reader.end())
})

const unreadable = (_error: HttpServerError.HttpServerError) =>
  InvalidRequest.of("The request body could not be read to its end")

/** What a client has yet to send of a body that nobody reads on would stand before its next request. */
const lastOfConnection = ResponseHeaders.addHeaders({ connection: "close" })

const givenUp = (message: string) => Effect.andThen(lastOfConnection, Effect.fail(InvalidRequest.of(message)))

const stalled = givenUp(`The request body stopped arriving for ${Duration.toSeconds(longestSilence)} seconds`)
const tooSlow = givenUp(`The request body did not arrive within ${Duration.toSeconds(longestUpload)} seconds`)

/** Takes a form in pieces of any size. */
export class FormReader {
  private readonly parser: MultipartParser.Parser
  private readonly wanted: PartLimit
  private readonly declaredBytes: number
  private readonly parts = new Map<string, Incoming>()
  private bytes = 0
  private closed = false
  private fault: string | undefined

  /** `declaredBytes` is the body's length as its headers say, or NaN. */
  constructor(contentType: string, wanted: PartLimit, declaredBytes: number) {
    this.wanted = wanted
    this.declaredBytes = declaredBytes
    this.parser = MultipartParser.make({
      headers: { "content-type": contentType },
      maxParts,
      // Every part is taken as a file, because the parser collects the content of others by itself.
      isFile: () => true,
      onField: () => {},
      onFile: (info) => this.open(info),
      onError: (error) => {
        // After the last boundary anything may follow, and means nothing.
        if (!this.closed) this.fault ??= explain(error)
      },
      onDone: () => {
        this.closed = true
      }
    })
  }

  /** False when no more is wanted: the form is too large, or already known to be none. */
  write(bytes: Uint8Array): boolean {
    this.bytes += bytes.length
    if (!this.closed && this.bytes <= maxFormBytes) this.parser.write(bytes)
    return this.bytes <= maxFormBytes && this.fault === undefined
  }

  end(): Result.Result<UploadedForm, InvalidRequest> {
    const complete = this.bytes <= maxFormBytes
    if (complete && !this.closed) this.parser.end()
    return this.fault === undefined
      ? Result.succeed({ parts: this.parts, complete })
      : Result.fail(InvalidRequest.of(this.fault))
  }

  private open({ filename, name }: MultipartParser.PartInfo): (bytes: Uint8Array | null) => void {
    const limit = this.wanted(name, filename)
    if (limit === undefined || this.closed) return ignore
    const earlier = this.parts.get(name)
    if (earlier !== undefined) {
      earlier.times++
      return ignore
    }
    const part = new Incoming(filename, limit, this.declaredBytes)
    this.parts.set(name, part)
    return (bytes) => part.add(bytes)
  }
}

const ignore = () => {}

/**
 * A part on its way. Its bytes are copied into place at once: a list of what the network delivered would have an object
 * for each byte of a client that sends them singly.
 */
class Incoming implements FormPart {
  readonly filename: string | undefined
  size = 0
  times = 1
  private readonly limit: number
  private readonly room: number
  private kept: Uint8Array | undefined

  constructor(filename: string | undefined, limit: number, declaredBytes: number) {
    this.filename = filename
    this.limit = limit
    // Memory that is not written to takes no place, so a part of unknown size may have all it is allowed.
    this.room = declaredBytes < limit ? declaredBytes : limit
  }

  /** `null` is the end. */
  add(bytes: Uint8Array | null): void {
    if (bytes === null) return
    const size = this.size + bytes.length
    if (size > this.limit) this.kept = undefined
    else {
      this.kept ??= Buffer.allocUnsafeSlow(this.room)
      this.kept.set(bytes, this.size)
    }
    this.size = size
  }

  get bytes(): Uint8Array {
    return this.kept?.subarray(0, this.size) ?? nothing
  }
}

const nothing = new Uint8Array()

const explain = (error: MultipartParser.MultipartError): string => {
  switch (error._tag) {
    case "InvalidBoundary":
      return "The content type of the request names no boundary"
    case "EndNotReached":
      return "The form ends before its closing boundary"
    case "BadHeaders":
      return "A part of the form has headers that cannot be read"
    case "InvalidDisposition":
      return "A part of the form has no content-disposition that names a field"
    case "ReachedLimit":
      return `The form must have at most ${maxParts} parts`
  }
}
