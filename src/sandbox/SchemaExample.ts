/**
 * An example of what a JSON Schema accepts, always the same one. Covers the keywords that tools and structured outputs
 * use; a schema with others may get a value that it does not accept.
 */
import { Predicate } from "effect"

import type { JsonObject } from "../domain/JsonObject.ts"

/** Schemas can be recursive. Below this depth, everything optional is left out. */
const maxDepth = 6
const maxItems = 100

const isJson = (value: unknown): value is JsonObject => Predicate.isObject(value)

/** A value that `schema` accepts. Its `$ref`s are resolved within the schema itself. */
export const schemaExample = (schema: JsonObject): unknown => value(schema, schema, 0)

const value = (root: JsonObject, schema: JsonObject, depth: number): unknown => {
  for (const key of ["const", "default"]) if (schema[key] !== undefined) return schema[key]
  for (const key of ["enum", "examples"]) {
    const choices = schema[key]
    if (Array.isArray(choices) && choices.length > 0) return choices[0]
  }
  if (typeof schema["$ref"] === "string") return value(root, resolve(root, schema["$ref"]), depth + 1)
  for (const key of ["anyOf", "oneOf"]) {
    const branches = schema[key]
    if (Array.isArray(branches) && isJson(branches[0]))
      return value(root, { ...without(schema, key), ...branches[0] }, depth)
  }
  if (Array.isArray(schema["allOf"])) {
    return value(root, schema["allOf"].filter(isJson).reduce(merged, without(schema, "allOf")), depth)
  }
  return ofType[typeOf(schema)](root, schema, depth)
}

const without = (schema: JsonObject, key: string): JsonObject => {
  const { [key]: _dropped, ...rest } = schema
  return rest
}

const merged = (left: JsonObject, right: JsonObject): JsonObject => ({
  ...left,
  ...right,
  properties: { ...propertiesOf(left), ...propertiesOf(right) },
  required: [...requiredOf(left), ...requiredOf(right)]
})

const propertiesOf = (schema: JsonObject): { readonly [name: string]: unknown } =>
  isJson(schema["properties"]) ? schema["properties"] : {}

const requiredOf = (schema: JsonObject): ReadonlyArray<unknown> =>
  Array.isArray(schema["required"]) ? schema["required"] : []

const resolve = (root: JsonObject, reference: string): JsonObject =>
  reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((step) => step !== "")
    .reduce<JsonObject>((schema, step) => {
      const next = schema[step.replaceAll("~1", "/").replaceAll("~0", "~")]
      return isJson(next) ? next : {}
    }, root)

type TypeName = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null"

const typeOf = (schema: JsonObject): TypeName => {
  const types: ReadonlyArray<unknown> = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]]
  const named = types.find((type): type is TypeName => typeof type === "string" && type in ofType)
  return named ?? (isJson(schema["properties"]) ? "object" : isJson(schema["items"]) ? "array" : "string")
}

const count = (given: unknown, otherwise: number): number => (typeof given === "number" ? given : otherwise)

const numberFor = (schema: JsonObject): number => {
  const above = schema["exclusiveMinimum"]
  const least =
    typeof above === "number" ? above + 1 : count(schema["minimum"], Math.min(1, count(schema["maximum"], 1)))
  const step = count(schema["multipleOf"], 0)
  return step > 0 ? Math.ceil(least / step) * step : least
}

const formats: { readonly [format: string]: string } = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  email: "sandbox@example.com",
  uri: "https://example.com/",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  uuid: "00000000-0000-4000-8000-000000000000"
}

const ofType: { readonly [T in TypeName]: (root: JsonObject, schema: JsonObject, depth: number) => unknown } = {
  object: (root, schema, depth) => {
    const required = requiredOf(schema)
    const wanted = Object.entries(propertiesOf(schema)).filter(
      ([name]) => required.includes(name) || (required.length === 0 && depth < maxDepth)
    )
    return Object.fromEntries(
      wanted.map(([name, child]) => [
        name,
        depth < 2 * maxDepth && isJson(child) ? value(root, child, depth + 1) : null
      ])
    )
  },
  array: (root, schema, depth) => {
    const items = isJson(schema["items"]) ? schema["items"] : {}
    const length = count(schema["minItems"], depth < maxDepth ? 1 : 0)
    return Array.from({ length: Math.min(length, maxItems) }, () => value(root, items, depth + 1))
  },
  string: (_root, schema) =>
    (formats[String(schema["format"])] ?? "sandbox")
      .padEnd(Math.min(count(schema["minLength"], 0), 1_000), ".")
      .slice(0, count(schema["maxLength"], Infinity)),
  integer: (_root, schema) => Math.ceil(numberFor(schema)),
  number: (_root, schema) => numberFor(schema),
  boolean: () => true,
  null: () => null
}
