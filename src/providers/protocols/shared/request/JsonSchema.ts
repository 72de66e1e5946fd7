/**
 * Where a JSON Schema holds further schemas, so that a property is never mistaken for a keyword of the same name, and
 * where it holds its description.
 */
import type { ResponseFormat } from "../../../../domain/Conversation.ts"
import { asArray, asObject, type Fields } from "../Field.ts"

/** The schema of an answer with the description that stands beside it, for APIs that have no other place for it. */
export const describedSchema = ({ description, schema }: Extract<ResponseFormat, { type: "json_schema" }>): Fields => {
  const own = schema["description"]
  if (description === undefined) return schema
  return { ...schema, description: typeof own === "string" ? `${description}\n${own}` : description }
}

/** Keywords that hold one schema, a list of them, or a record of them. */
const single = new Set(["items", "additionalProperties", "contains", "not", "if", "then", "else"])
const several = new Set(["anyOf", "oneOf", "allOf", "prefixItems"])
const named = new Set(["properties", "patternProperties", "$defs", "definitions"])

/** The value of the keyword `key`, with `rewrite` applied to the schemas directly within it. */
export const rewriteSubschemas = (key: string, value: unknown, rewrite: (schema: Fields) => Fields): unknown => {
  const one = (schema: unknown): unknown => {
    const fields = asObject(schema)
    return fields ? rewrite(fields) : schema
  }
  const fields = asObject(value)
  if (single.has(key)) return one(value)
  if (several.has(key)) return asArray(value).map(one)
  if (named.has(key) && fields)
    return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, one(schema)]))
  return value
}
