/**
 * Checks a value against a JSON Schema that a client wrote. It knows the keywords by which schemas describe the shape
 * of answers. Those that it does not know allow everything, among them `pattern`, since a client's pattern could keep
 * the process busy for hours. The work is bounded: a check that takes too many steps finds nothing wrong.
 */
import type { JsonObject } from "./JsonObject.ts"

/** Steps of one check, where every schema that is applied to a value is one. */
const maxSteps = 50_000
/** Schemas within schemas, references included. */
const maxDepth = 200

interface Check {
  readonly root: JsonObject
  steps: number
}

/** The place and the rule of the first violation, or `undefined` when the value conforms. */
export const violationOf = (value: unknown, schema: JsonObject): string | undefined =>
  violationAt({ value, schema, path: "$", depth: 0 }, { root: schema, steps: 0 })

interface Place {
  readonly value: unknown
  readonly schema: unknown
  readonly path: string
  readonly depth: number
}

const violationAt = (place: Place, check: Check): string | undefined => {
  const { depth, path, schema, value } = place
  if (schema === false) return `${path} is not allowed`
  if (!isObject(schema) || depth > maxDepth || ++check.steps > maxSteps) return undefined
  const { $ref: reference } = schema
  const referred =
    typeof reference === "string"
      ? violationAt({ ...place, schema: resolved(reference, check.root), depth: depth + 1 }, check)
      : undefined
  return (
    referred ??
    typeViolation(value, schema, path) ??
    valueViolation(value, schema, path) ??
    sizeViolation(value, schema, path) ??
    combinationViolation(place, schema, check) ??
    (isObject(value) ? memberViolation(value, schema, place, check) : undefined) ??
    (Array.isArray(value) ? itemViolation(value, schema, place, check) : undefined)
  )
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The schema at a JSON pointer within the root. A reference to anything else allows everything. */
const resolved = (reference: string, root: JsonObject): unknown => {
  if (!reference.startsWith("#")) return true
  const names = reference.slice(1).split("/").slice(1)
  return names.reduce<unknown>((at, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
  }, root)
}

const typeTests: { readonly [type: string]: (value: unknown) => boolean } = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null
}

const typeViolation = (value: unknown, { type }: JsonObject, path: string): string | undefined => {
  const types: ReadonlyArray<unknown> = Array.isArray(type) ? type : type === undefined ? [] : [type]
  const known = types.filter((name) => typeof name === "string" && Object.hasOwn(typeTests, name))
  if (known.length === 0 || known.length < types.length) return undefined
  return known.some((name) => typeTests[String(name)]?.(value)) ? undefined : `${path} must be ${known.join(" or ")}`
}

const isEqual = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isEqual(item, other[at]))
  }
  if (!isObject(one) || !isObject(other)) return one === other
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
  )
}

const valueViolation = (value: unknown, schema: JsonObject, path: string): string | undefined => {
  if (Array.isArray(schema["enum"]) && !schema["enum"].some((allowed) => isEqual(value, allowed)))
    return `${path} must be one of enum`
  return "const" in schema && !isEqual(value, schema["const"]) ? `${path} must be const` : undefined
}

/** Limits by keyword: what is measured, and whether a measure keeps the limit. */
const limits: ReadonlyArray<
  readonly [
    keyword: string,
    measure: (value: unknown) => number | undefined,
    keeps: (measured: number, limit: number) => boolean
  ]
> = [
  ["minimum", (value) => asNumber(value), (measured, limit) => measured >= limit],
  ["maximum", (value) => asNumber(value), (measured, limit) => measured <= limit],
  ["exclusiveMinimum", (value) => asNumber(value), (measured, limit) => measured > limit],
  ["exclusiveMaximum", (value) => asNumber(value), (measured, limit) => measured < limit],
  ["multipleOf", (value) => asNumber(value), (measured, limit) => isMultiple(measured, limit)],
  ["minLength", (value) => charactersOf(value), (measured, limit) => measured >= limit],
  ["maxLength", (value) => charactersOf(value), (measured, limit) => measured <= limit],
  ["minItems", (value) => itemsOf(value), (measured, limit) => measured >= limit],
  ["maxItems", (value) => itemsOf(value), (measured, limit) => measured <= limit],
  ["minProperties", (value) => membersOf(value), (measured, limit) => measured >= limit],
  ["maxProperties", (value) => membersOf(value), (measured, limit) => measured <= limit]
]

const asNumber = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)
const charactersOf = (value: unknown): number | undefined =>
  typeof value === "string" ? Array.from(value).length : undefined
const itemsOf = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)
const membersOf = (value: unknown): number | undefined => (isObject(value) ? Object.keys(value).length : undefined)

/** Decimals such as 0.3 are not exact in binary, so a quotient that is whole but for rounding counts as whole. */
const isMultiple = (value: number, factor: number): boolean =>
  factor <= 0 || Math.abs(value / factor - Math.round(value / factor)) < 1e-9

const sizeViolation = (value: unknown, schema: JsonObject, path: string): string | undefined => {
  for (const [keyword, measure, keeps] of limits) {
    const limit = schema[keyword]
    if (typeof limit !== "number") continue
    const measured = measure(value)
    if (measured !== undefined && !keeps(measured, limit)) return `${path} breaks ${keyword}`
  }
  return undefined
}

const combinationViolation = (place: Place, schema: JsonObject, check: Check): string | undefined => {
  const under = (inner: unknown) => violationAt({ ...place, schema: inner, depth: place.depth + 1 }, check)
  const { allOf, anyOf, not, oneOf } = schema
  if (Array.isArray(allOf)) {
    for (const inner of allOf) {
      const violation = under(inner)
      if (violation !== undefined) return violation
    }
  }
  if (Array.isArray(anyOf) && !anyOf.some((inner) => under(inner) === undefined)) return `${place.path} fits no anyOf`
  if (Array.isArray(oneOf) && oneOf.filter((inner) => under(inner) === undefined).length !== 1)
    return `${place.path} must fit exactly one of oneOf`
  return isObject(not) && under(not) === undefined ? `${place.path} fits not` : undefined
}

const memberViolation = (
  value: JsonObject,
  schema: JsonObject,
  { depth, path }: Place,
  check: Check
): string | undefined => {
  const { additionalProperties, patternProperties, required } = schema
  const properties = isObject(schema["properties"]) ? schema["properties"] : {}
  const missing = Array.isArray(required)
    ? required.find((name) => typeof name === "string" && !Object.hasOwn(value, name))
    : undefined
  if (missing !== undefined) return `${path} lacks ${JSON.stringify(missing)}`
  for (const [name, member] of Object.entries(value)) {
    const isDeclared = Object.hasOwn(properties, name)
    // Which names the patterns allow is not checked, so where there are any, undeclared names are allowed.
    const inner = isDeclared ? properties[name] : patternProperties === undefined ? additionalProperties : undefined
    const at = isDeclared ? `${path}.${name}` : `${path}.*`
    const violation = violationAt({ value: member, schema: inner, path: at, depth: depth + 1 }, check)
    if (violation !== undefined) return violation
  }
  return undefined
}

const itemViolation = (
  value: ReadonlyArray<unknown>,
  { items, prefixItems }: JsonObject,
  { depth, path }: Place,
  check: Check
): string | undefined => {
  const first: ReadonlyArray<unknown> = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? undefined : items
  for (const [index, item] of value.entries()) {
    const schema = index < first.length ? first[index] : rest
    const violation = violationAt({ value: item, schema, path: `${path}[${index}]`, depth: depth + 1 }, check)
    if (violation !== undefined) return violation
  }
  return undefined
}
