/**
 * Encodes a form with one file as `multipart/form-data`. The bytes of the file are sent from where they are and never
 * copied, so a request keeps them in memory once, however many targets it tries.
 */
import { Readable } from "node:stream"

import type { MultipartForm } from "../protocols/Protocol.ts"

/** True for a form: no protocol sends JSON with both of these members. */
export const isForm = (body: object): body is MultipartForm => "file" in body && "fields" in body

/** A body with its media type and its length in bytes. */
interface EncodedForm {
  readonly body: Readable
  readonly contentType: string
  readonly length: number
}

/** The body of the request. The boundary must be impossible to guess, or a file could contain fields of its own. */
export const encodeForm = ({ fields, file }: MultipartForm, boundary: string): EncodedForm => {
  const disposition = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`
  const parts = Object.entries(fields).map(([name, value]) => `${disposition(name)}\r\n\r\n${value}\r\n`)
  const head = Buffer.from(
    `${parts.join("")}${disposition(file.field)}; filename="${file.name}"\r\nContent-Type: ${file.media}\r\n\r\n`
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    body: Readable.from([head, file.bytes, tail]),
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: head.byteLength + file.bytes.byteLength + tail.byteLength
  }
}
