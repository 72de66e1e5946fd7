/** Requests to `POST /v1/audio/transcriptions`, for suites that use `TestGateway`. */
import { Effect } from "effect"

import { audioPart, field, multipart, type PartSpec } from "./Multipart.ts"
import { TestGateway } from "./TestGateway.ts"

export const transcriptionPath = "/v1/audio/transcriptions"

/** Uploads a form with these parts. */
export const transcribe = (parts: ReadonlyArray<PartSpec>, headers: Record<string, string> = {}) =>
  Effect.flatMap(TestGateway, (gateway) => {
    const { body, contentType } = multipart(parts)
    return gateway.request("POST", transcriptionPath, body, { "content-type": contentType, ...headers })
  })

export type Fields = { readonly [name: string]: string }

export const fieldParts = (fields: Fields): ReadonlyArray<PartSpec> =>
  Object.entries(fields).map(([name, content]) => field(name, content))

/** Uploads half a second of silence with these fields. */
export const transcribeWith = (fields: Fields, headers?: Record<string, string>) =>
  transcribe([audioPart(), ...fieldParts(fields)], headers)
