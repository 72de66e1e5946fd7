/**
 * Reads a `multipart/form-data` body while it arrives. The memory of one upload is bounded by the limits of its parts,
 * however the body is divided into packets; parts that are not expected are counted and dropped.
 */
import { Result } from "effect"
import { type Headers, MultipartParser } from "effect/http"

import { InvalidRequest } from "../../api/Errors.ts"

/** A part of the form, as far as it has been received. */
export interface FormPart {
  /** `undefined` when the part was not sent as a file. */
  readonly filename: string | undefined
  /** Number of bytes received, even if they were not kept. */
  readonly size: number
  /** The content; empty when it exceeds the limit of the part. */
  readonly bytes: Uint8Array
  /** How many parts of this name the form has. Only the first of them is kept. */
  readonly times: number
}

export interface UploadedForm {
  readonly parts: ReadonlyMap<string, FormPart>
  /** False when the form has more than `maxFormBytes`, so that its end was not read. */
  readonly complete: boolean
}

/** How many bytes of a part to keep at most; `undefined` for a part that is to be ignored. */
export type PartLimit = (name: string, filename: string | undefined) => number | undefined

/** The limit in bytes on a whole form, including boundaries, headers and dropped parts. */
export const maxFormBytes = 32 * 1024 * 1024
/** The limit on the number of parts, ignored ones included. */
export const maxParts = 64
/** A reader for the form in the body of a request. Fails when the body is none by its content type. */
export const formReaderFor = (
  headers: Headers.Headers,
  partLimit: PartLimit
): Result.Result<FormReader, InvalidRequest> => {
  const contentType = headers["content-type"] ?? ""
  return /^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)
    ? Result.succeed(new FormReader(contentType, partLimit, Number(headers["content-length"] ?? Number.NaN)))
    : Result.fail(InvalidRequest.of("The request body must be multipart/form-data, with the audio in the file `file`"))
}

/** Reads a form that is written to it in pieces of any size. */
export class FormReader {
  private readonly parser: MultipartParser.Parser
  private readonly partLimit: PartLimit
  private readonly declaredBytes: number
  private readonly parts = new Map<string, IncomingPart>()
  private bytes = 0
  private closed = false
  private fault: string | undefined

  /** `declaredBytes` is the length of the body by its `content-length` header, or NaN. */
  constructor(contentType: string, partLimit: PartLimit, declaredBytes: number) {
    this.partLimit = partLimit
    this.declaredBytes = declaredBytes
    this.parser = MultipartParser.make({
      headers: { "content-type": contentType },
      maxParts,
      // Every part is treated as a file, because the parser would buffer the content of other parts without a limit.
      isFile: () => true,
      onField: () => {},
      onFile: (info) => this.open(info),
      onError: (error) => {
        // Whatever follows the last boundary is to be ignored.
        if (!this.closed) this.fault ??= messageFor(error)
      },
      onDone: () => {
        this.closed = true
      }
    })
  }

  /**
   * Returns false when the form is too large for its rest to be read. The rest of a malformed one is read and dropped,
   * because clients that are still sending lose an answer that comes before they are done.
   */
  write(bytes: Uint8Array): boolean {
    this.bytes += bytes.length
    if (!this.closed && this.fault === undefined && this.bytes <= maxFormBytes) this.parser.write(bytes)
    return this.bytes <= maxFormBytes
  }

  /** The form, once the body has ended or `write` has returned false. */
  end(): Result.Result<UploadedForm, InvalidRequest> {
    const complete = this.bytes <= maxFormBytes
    if (complete && !this.closed) this.parser.end()
    return this.fault === undefined
      ? Result.succeed({ parts: this.parts, complete })
      : Result.fail(InvalidRequest.of(this.fault))
  }

  private open({ filename, name }: MultipartParser.PartInfo): (bytes: Uint8Array | null) => void {
    const limit = this.partLimit(name, filename)
    if (limit === undefined || this.closed) return ignore
    const earlier = this.parts.get(name)
    if (earlier !== undefined) {
      earlier.times++
      return ignore
    }
    const part = new IncomingPart(filename, limit, this.declaredBytes)
    this.parts.set(name, part)
    return (bytes) => part.add(bytes)
  }
}

const ignore = () => {}

/**
 * A part that is being received. Its bytes are copied into one buffer at once, because a list of the received pieces
 * would have one object per byte of a client that sends single bytes.
 */
class IncomingPart implements FormPart {
  readonly filename: string | undefined
  size = 0
  times = 1
  private readonly limit: number
  private readonly capacity: number
  private buffer: Uint8Array | undefined

  constructor(filename: string | undefined, limit: number, declaredBytes: number) {
    this.filename = filename
    this.limit = limit
    // Unwritten memory is not committed by the system, so a part of unknown size gets a buffer of its full limit.
    this.capacity = declaredBytes < limit ? declaredBytes : limit
  }

  /** Takes the next piece of the content; the parser passes `null` at the end of the part. */
  add(bytes: Uint8Array | null): void {
    if (bytes === null) return
    const size = this.size + bytes.length
    if (size > this.limit) this.buffer = undefined
    else {
      this.buffer ??= Buffer.allocUnsafeSlow(this.capacity)
      this.buffer.set(bytes, this.size)
    }
    this.size = size
  }

  get bytes(): Uint8Array {
    return this.buffer?.subarray(0, this.size) ?? emptyContent
  }
}

const emptyContent = new Uint8Array()

const messageFor = (error: MultipartParser.MultipartError): string => {
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
