/**
 * An example made from a schema, for a body or a parameter whose author gave none: every operation shows what it takes
 * and gives. Values come from the schema where it has some, else by the name of the member.
 */
import { memberExamples } from "../../api/examples/MemberExamples.ts"
import { type JsonSchema, type OpenApiDocument, resolved } from "./OpenApiShape.ts"

const typeOfValue: { readonly [type: string]: string } = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean"
}

const namedExample = (name: string, { type = "" }: JsonSchema): unknown =>
  memberExamples[name]?.find((value) => typeof value === typeOfValue[type])

/** An optional member is shown where there is a good value for it. */
const hasValue = (document: OpenApiDocument, name: string, schema: JsonSchema): boolean => {
  const target = resolved(document, schema)
  return (
    target.examples !== undefined ||
    namedExample(name, target) !== undefined ||
    (target.anyOf ?? []).some((variant) => hasValue(document, name, variant))
  )
}

const scalarExample = (name: string, schema: JsonSchema): unknown => {
  if (schema.type === "boolean") return true
  // Integers without a bound of their own have the one of safe integers, which says nothing.
  if (schema.type === "integer" || schema.type === "number") return Math.max(schema.minimum ?? 1, 0)
  return schema.format === "uuid" ? memberExamples["id"]?.[0] : name
}

/** A value of this schema, which stands under `name`. A schema within itself ends as null. */
export const exampleOfSchema = (
  document: OpenApiDocument,
  schema: JsonSchema,
  name: string,
  outer: ReadonlyArray<JsonSchema> = []
): unknown => {
  const target = resolved(document, schema)
  if (outer.includes(target)) return null
  const inner = (part: JsonSchema, key: string) => exampleOfSchema(document, part, key, [...outer, target])
  if (target.examples !== undefined) return target.examples[0]
  if (target.enum !== undefined) return target.enum[0]
  const [variant] = target.anyOf ?? target.oneOf ?? []
  if (variant !== undefined) {
    const isNullable = (target.anyOf ?? []).some(({ type }) => type === "null")
    return isNullable && !hasValue(document, name, target) ? null : inner(variant, name)
  }
  if (target.type === "array") return typeof target.items === "object" ? [inner(target.items, name)] : []
  if (target.type === "object") {
    const members = Object.entries(target.properties ?? {})
      .filter(([key, member]) => target.required?.includes(key) === true || hasValue(document, key, member))
      .map(([key, member]) => [key, inner(member, key)])
    return Object.fromEntries(members)
  }
  return namedExample(name, target) ?? scalarExample(name, target)
}
