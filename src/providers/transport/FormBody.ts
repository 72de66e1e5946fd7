/**
 * A form with one file as `multipart/form-data`, written around the file: its bytes go out from where they are, so a
 * request holds them once, however often they are sent.
 */
import { Stream } from "effect"
import { HttpBody } from "effect/http"

import type { MultipartForm } from "../protocols/Protocol.ts"

/** Told from JSON, which has neither. */
export const isForm = (body: object): body is MultipartForm => "file" in body && "fields" in body

/** The body of a request. Nobody must be able to guess the boundary, or a file could bring fields of its own. */
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
