/**
 * Checks a value against a JSON Schema that a client wrote. It knows the keywords by which schemas describe the shape
 * of answers. Those that it does not know allow everything, among them `pattern`, since a client's pattern could keep
 * the process busy for hours. The work is bounded: a check that takes too many steps finds nothing wrong. Where it
 * matters whether a value fits (`not`, `oneOf`, `if`), one that may fit for all that is known here does not count as
 * one that does.
 */
import type { JsonObject } from "./JsonObject.ts"
import { schemaLimits } from "./SchemaLimits.ts"

/** Steps of one check, where every schema that is applied to a value is one, and so is every comparison. */
const maxSteps = 200_000
/** Schemas within schemas, references included. */
const maxDepth = 200

interface Check {
  readonly root: JsonObject
  steps: number
  /** True once something was allowed because it was not understood or not looked at. */
  isDoubtful: boolean
  readonly references: Map<string, unknown>
  /** Whether all keywords of a schema are known. */
  readonly understood: Map<JsonObject, boolean>
}

/** The place and the rule of the first violation, or `undefined` when the value conforms. */
export const violationOf = (value: unknown, schema: JsonObject): string | undefined =>
  violationAt(
    { value, schema, path: "$", depth: 0 },
    { root: schema, steps: 0, isDoubtful: false, references: new Map(), understood: new Map() }
  )

interface Place {
  readonly value: unknown
  readonly schema: unknown
  readonly path: string
  readonly depth: number
}

const violationAt = (place: Place, check: Check): string | undefined => {
  const { depth, path, schema, value } = place
  if (schema === false) return `${path} is not allowed`
  if (!isObject(schema) || ++check.steps > maxSteps || depth > maxDepth) {
    check.isDoubtful ||= schema !== undefined && schema !== true && !isEmpty(schema)
    return undefined
  }
  check.isDoubtful ||= !isUnderstood(schema, check)
  const { $ref: reference } = schema
  const referred =
    typeof reference === "string"
      ? violationAt({ ...place, schema: resolved(reference, check), depth: depth + 1 }, check)
      : undefined
  return (
    referred ??
    typeViolation(value, schema, path, check) ??
    valueViolation(value, schema, path, check) ??
    sizeViolation(value, schema, path, check) ??
    combinationViolation(place, schema, check) ??
    (isObject(value) ? memberViolation(value, schema, place, check) : undefined) ??
    (Array.isArray(value) ? itemViolation(value, schema, place, check) : undefined)
  )
}

/** Keywords that are checked here, and those that check nothing. */
const knownKeywords: ReadonlySet<string> = new Set(
  (
    "$ref type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems " +
    "maxItems minProperties maxProperties allOf anyOf oneOf not if then else properties required " +
    "additionalProperties items prefixItems additionalItems uniqueItems $schema $id $comment $defs definitions " +
    "title description default examples deprecated"
  ).split(" ")
)

const isUnderstood = (schema: JsonObject, { understood }: Check): boolean => {
  const known = understood.get(schema) ?? Object.keys(schema).every((keyword) => knownKeywords.has(keyword))
  understood.set(schema, known)
  return known
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isEmpty = (schema: unknown): boolean => isObject(schema) && Object.keys(schema).length === 0

/** A schema that no part of this check understands. */
const unknownSchema = { $dynamicRef: "" }

/** The schema at a JSON pointer within the root. A reference to anything else allows everything. */
const resolved = (reference: string, { references, root }: Check): unknown => {
  if (!references.has(reference)) references.set(reference, pointedAt(reference, root) ?? unknownSchema)
  return references.get(reference)
}

const pointedAt = (reference: string, root: JsonObject): unknown => {
  if (!reference.startsWith("#")) return undefined
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

const typeViolation = (value: unknown, { type }: JsonObject, path: string, check: Check): string | undefined => {
  const types: ReadonlyArray<unknown> = Array.isArray(type) ? type : type === undefined ? [] : [type]
  const known = types.filter((name) => typeof name === "string" && Object.hasOwn(typeTests, name))
  check.steps += types.length
  check.isDoubtful ||= known.length < types.length
  if (known.length === 0 || known.length < types.length) return undefined
  return known.some((name) => typeTests[String(name)]?.(value)) ? undefined : `${path} must be ${known.join(" or ")}`
}

/** Two values count as equal when there are too many steps to find out. */
const isEqual = (one: unknown, other: unknown, check: Check): boolean => {
  if (++check.steps > maxSteps) return (check.isDoubtful = true)
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, at) => isEqual(item, other[at], check))
    )
  }
  if (!isObject(one) || !isObject(other)) return one === other
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key], check))
  )
}

const valueViolation = (value: unknown, schema: JsonObject, path: string, check: Check): string | undefined => {
  if (Array.isArray(schema["enum"]) && !schema["enum"].some((allowed) => isEqual(value, allowed, check)))
    return `${path} must be one of enum`
  return "const" in schema && !isEqual(value, schema["const"], check) ? `${path} must be const` : undefined
}

/** Characters and members that are counted in the time of one step. */
const countedPerStep = 100

const sizeViolation = (value: unknown, schema: JsonObject, path: string, check: Check): string | undefined => {
  for (const [keyword, measure, keeps] of schemaLimits) {
    const limit = schema[keyword]
    if (typeof limit !== "number") continue
    const measured = measure(value)
    if (typeof value !== "number") check.steps += Math.ceil((measured ?? 0) / countedPerStep)
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
  if (Array.isArray(anyOf) && !fitsAny(anyOf, under, check)) return `${place.path} fits no anyOf`
  if (Array.isArray(oneOf)) {
    const fits = oneOf.map((inner) => fit(() => under(inner), check))
    if (fits.filter((one) => one === "yes").length > 1 || fits.every((one) => one === "no"))
      return `${place.path} must fit exactly one of oneOf`
  }
  if (not !== undefined && fit(() => under(not), check) === "yes") return `${place.path} fits not`
  const { else: otherwise, if: condition, then } = schema
  const fits = condition === undefined ? "perhaps" : fit(() => under(condition), check)
  return fits === "perhaps" ? undefined : under(fits === "yes" ? then : otherwise)
}

const fitsAny = (
  schemas: ReadonlyArray<unknown>,
  under: (schema: unknown) => string | undefined,
  check: Check
): boolean => {
  const wasDoubtful = check.isDoubtful
  let mayFit = false
  for (const schema of schemas) {
    const fits = fit(() => under(schema), check)
    mayFit ||= fits !== "no"
    if (fits === "yes") check.isDoubtful = wasDoubtful
    if (fits === "yes" || check.steps > maxSteps) break
  }
  return mayFit
}

/** Whether a value fits a schema. */
const fit = (violation: () => string | undefined, check: Check): "yes" | "no" | "perhaps" => {
  const wasDoubtful = check.isDoubtful
  check.isDoubtful = false
  const fits = violation() === undefined ? (check.isDoubtful ? "perhaps" : "yes") : "no"
  check.isDoubtful = wasDoubtful || fits === "perhaps"
  return fits
}

const memberViolation = (
  value: JsonObject,
  schema: JsonObject,
  { depth, path }: Place,
  check: Check
): string | undefined => {
  const { additionalProperties, patternProperties, required } = schema
  check.steps += Array.isArray(required) ? required.length : 0
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
  { additionalItems, items, prefixItems, uniqueItems }: JsonObject,
  { depth, path }: Place,
  check: Check
): string | undefined => {
  const first: ReadonlyArray<unknown> = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? additionalItems : items
  if (uniqueItems === true && hasRepeated(value)) return `${path} repeats an item`
  for (const [index, item] of value.entries()) {
    const schema = index < first.length ? first[index] : rest
    const violation = violationAt({ value: item, schema, path: `${path}[${index}]`, depth: depth + 1 }, check)
    if (violation !== undefined) return violation
  }
  return undefined
}

const hasRepeated = (items: ReadonlyArray<unknown>): boolean =>
  new Set(items.map((item) => JSON.stringify(item, withSortedMembers))).size < items.length

const withSortedMembers = (_name: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
