/**
 * Encodes a form with one file as `multipart/form-data`. The bytes of the file are sent from where they are and never
 * copied, so a request keeps them in memory once, however many targets it tries.
 */
import { Stream } from "effect"
import { HttpBody } from "effect/http"

import type { MultipartForm } from "../protocols/Protocol.ts"

/** True for a form: no protocol sends JSON with both of these members. */
export const isForm = (body: object): body is MultipartForm => "file" in body && "fields" in body

/** The body of the request. The boundary must be impossible to guess, or a file could contain fields of its own. */
export const encodeForm = ({ fields, file }: MultipartForm, boundary: string): HttpBody.Stream => {
  const disposition = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`
  const parts = Object.entries(fields).map(([name, value]) => `${disposition(name)}\r\n\r\n${value}\r\n`)
  const head = Buffer.from(
    `${parts.join("")}${disposition(file.field)}; filename="${file.name}"\r\nContent-Type: ${file.media}\r\n\r\n`
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return HttpBody.stream(
    Stream.make<ReadonlyArray<Uint8Array>>(head, file.bytes, tail),
    `multipart/form-data; boundary=${boundary}`,
    head.byteLength + file.bytes.byteLength + tail.byteLength
  )
}
