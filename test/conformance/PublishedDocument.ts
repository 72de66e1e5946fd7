/** Validators made from the schemas in `/openapi.json`: what the document says about an answer must be true. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as z from "zod"

import { at, type Json } from "../support/Chat.ts"
import { TestGateway } from "../support/TestGateway.ts"

/** Replaces a string that contains JSON by the schema of that JSON, because the tests parse it before they check it. */
export const unwrapped = (schema: unknown): unknown => {
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

/** The validators of the running gateway's document. */
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

/** Fails the test with the place of the first mismatch unless `value` has this shape. */
export const assertShape = (shape: z.ZodType, value: unknown, about: string): void => {
  const { error } = shape.safeParse(value)
  if (error !== undefined) assert.fail(`${about}: ${z.prettifyError(error)}\n${JSON.stringify(value).slice(0, 2_000)}`)
}
