/**
 * JSON Schemas in the form that Anthropic accepts. A schema of answers must close every object and may not use most
 * limits; what cannot be enforced is written into the description, so that the model still knows it.
 */
import { asArray, asObject, asObjects, type Fields } from "../Field.ts"
import { rewriteSubschemas } from "./JsonSchema.ts"

const unsupportedKeywords = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "contains",
  "minContains",
  "maxContains",
  "minProperties",
  "maxProperties",
  "patternProperties",
  "propertyNames"
])

const formats = new Set(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"])

const isSupported = (key: string, value: unknown): boolean => {
  if (key === "$schema" || unsupportedKeywords.has(key)) return false
  if (key === "format") return typeof value === "string" && formats.has(value)
  return key !== "minItems" || value === 0 || value === 1
}

/** A schema for answers. Its members stay in the order in which the client wrote them. */
export const answerSchema = (schema: Fields): Fields => {
  const entries = Object.entries(schema)
  const kept = entries
    .filter(([key, value]) => isSupported(key, value))
    .map(([key, value]) => [key, rewriteSubschemas(key, value, answerSchema)])
  const unenforced = entries.filter(([key, value]) => key !== "$schema" && !isSupported(key, value))
  const hints = unenforced.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")
  const description = typeof schema["description"] === "string" ? `${schema["description"]} (${hints})` : `(${hints})`
  return {
    ...Object.fromEntries(kept),
    ...(hints !== "" && { description }),
    ...(isObjectSchema(schema) && { additionalProperties: false })
  }
}

const isObjectSchema = (schema: Fields): boolean =>
  schema["type"] === "object" || asArray(schema["type"]).includes("object") || schema["properties"] !== undefined

/**
 * A schema of tool arguments. Its root is an object, and `allOf`, `anyOf` and `oneOf`, which Anthropic refuses there,
 * are merged into it.
 */
export const inputSchema = (schema: Fields): Fields => {
  const { allOf, anyOf, oneOf, ...rest } = schema
  const choices = [...asObjects(anyOf), ...asObjects(oneOf)]
  const parts = asObjects(allOf)
  if (choices.length + parts.length === 0) return { type: "object", ...rest }
  const properties = [rest, ...parts, ...choices].map((part) => asObject(part["properties"]) ?? {})
  const always = [rest, ...parts].flatMap((part) => asArray(part["required"]))
  const [first = {}, ...others] = choices
  const everyChoice = asArray(first["required"]).filter((name) =>
    others.every((choice) => asArray(choice["required"]).includes(name))
  )
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...properties),
    required: [...new Set([...always, ...everyChoice])]
  }
}

/** True for a schema of tool arguments whose choices are merged, so that it allows more than it did. */
export const mergesChoices = ({ allOf, anyOf, oneOf }: Fields): boolean =>
  [allOf, anyOf, oneOf].some((choices) => asObjects(choices).length > 0)
