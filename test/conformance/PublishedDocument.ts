/** The schemas that `/openapi.json` declares, as validators: what we publish about an answer must be true of it. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as z from "zod"

import { at, type Json } from "../support/Chat.ts"
import { TestGateway } from "../support/TestGateway.ts"

/** JSON inside a string is described beside the string; here it is read already, and described in its place. */
const unwrapped = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(unwrapped)
  if (typeof schema !== "object" || schema === null) return schema
  if ("contentSchema" in schema) return unwrapped(schema.contentSchema)
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, unwrapped(value)]))
}

/** Fails the test unless `value` is what the document declares for this answer. */
export type Declared = (
  method: string,
  path: string,
  status: number,
  contentType: string,
  value: unknown,
  about: string
) => void

/** Reads the document of the running gateway. */
export const published: Effect.Effect<Declared, never, TestGateway> = Effect.gen(function* () {
  const gateway = yield* TestGateway
  const { text } = yield* gateway.request("GET", "/openapi.json")
  const document = unwrapped(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")))
  const $defs = at(document, "components", "schemas") as Json
  const known = new Map<string, z.ZodType>()
  return (method, path, status, contentType, value, about) => {
    const declared = at(document, "paths", path, method, "responses", String(status), "content", contentType, "schema")
    assert.isDefined(declared, `${about}: ${method} ${path} declares no ${contentType} for ${status}`)
    const key = JSON.stringify(declared)
    const validator =
      known.get(key) ?? z.fromJSONSchema({ ...(declared as Json), $defs } as z.core.JSONSchema.JSONSchema)
    known.set(key, validator)
    assertShape(validator, value, `${about}, by /openapi.json`)
  }
})

/** Fails the test unless `value` has this shape, saying where it has not. */
export const assertShape = (shape: z.ZodType, value: unknown, about: string): void => {
  const { error } = shape.safeParse(value)
  if (error !== undefined) assert.fail(`${about}: ${z.prettifyError(error)}\n${JSON.stringify(value).slice(0, 2_000)}`)
}
