/**
 * A schema as a list of attributes: name, type, whether it is required, what it means, and what it consists of, folded.
 * Schemas may refer to themselves, so a schema within itself is named and not shown again.
 */
import { inlineMarkdown } from "./Markdown.ts"
import { html, type Markup } from "./Markup.ts"
import { type JsonSchema, type OpenApiDocument, resolved } from "./OpenApiShape.ts"

/** A schema without references and without the alternative `null`. */
interface Plain {
  readonly schema: JsonSchema
  readonly isNullable: boolean
  readonly description: string | undefined
  /** The alternatives, where there are several. */
  readonly variants: ReadonlyArray<JsonSchema>
}

const isNull = (schema: JsonSchema): boolean => schema.type === "null"

const plain = (document: OpenApiDocument, schema: JsonSchema): Plain => {
  const target = resolved(document, schema)
  const description = schema.description ?? target.description
  const inner = target.contentSchema
  if (inner !== undefined) return plain(document, inner)
  const alternatives = target.anyOf ?? target.oneOf
  if (alternatives === undefined) {
    const [only] = target.allOf?.length === 1 ? target.allOf : []
    return only === undefined
      ? { schema: target, isNullable: false, description, variants: [] }
      : { ...plain(document, only), description }
  }
  const variants = alternatives.filter((variant) => !isNull(resolved(document, variant)))
  const isNullable = variants.length < alternatives.length
  const [first] = variants
  if (first === undefined || variants.length > 1) return { schema: target, isNullable, description, variants }
  const only = plain(document, first)
  return { ...only, isNullable: isNullable || only.isNullable, description: description ?? only.description }
}

/** What the elements of an array are; `undefined` for anything else. */
const elementOf = (schema: JsonSchema): JsonSchema | undefined => {
  if (schema.prefixItems !== undefined) return schema.prefixItems[0]
  return schema.items === false ? undefined : schema.items
}

const plurals: { readonly [type: string]: string } = { string: "strings", object: "objects", number: "numbers" }

const typeName = (document: OpenApiDocument, schema: JsonSchema): string => {
  const { schema: target, variants } = plain(document, schema)
  if (variants.length > 0) return [...new Set(variants.map((variant) => typeName(document, variant)))].join(" or ")
  const element = elementOf(target)
  if (element !== undefined) {
    const name = typeName(document, element)
    return `array of ${plurals[name] ?? name}`
  }
  if (target.format === "binary") return "file"
  return target.type ?? "anything"
}

const typeOf = (document: OpenApiDocument, schema: JsonSchema): string =>
  typeName(document, schema) + (plain(document, schema).isNullable ? " or null" : "")

const within = (from: number | undefined, to: number | undefined, what = ""): string | undefined => {
  if (from === undefined && to === undefined) return undefined
  if (from === undefined) return `at most ${to}${what}`
  if (to === undefined) return `at least ${from}${what}`
  return from === to ? `${from}${what}` : `${from} to ${to}${what}`
}

/** The values that are allowed, in words; empty when the type says it all. */
const limitsOf = (schema: JsonSchema): ReadonlyArray<Markup> => {
  const values = schema.enum?.map((value) => html`<code>${JSON.stringify(value)}</code>`) ?? []
  const texts = [
    within(schema.minimum, schema.maximum),
    schema.minLength === 1 && schema.maxLength === undefined
      ? "not empty"
      : within(schema.minLength, schema.maxLength, " characters"),
    schema.minItems === 1 && schema.maxItems === undefined
      ? "not empty"
      : within(schema.minItems, schema.maxItems, " elements"),
    within(undefined, schema.maxProperties, " keys"),
    schema.default === undefined ? undefined : `${JSON.stringify(schema.default)} by default`
  ].filter((text) => text !== undefined)
  return [
    ...(values.length === 0 ? [] : [html`${values.length === 1 ? "Always" : "One of"} ${join(values, ", ")}`]),
    ...(texts.length === 0 ? [] : [html`<span class="limit">${texts.join(", ")}</span>`])
  ]
}

const join = (pieces: ReadonlyArray<Markup>, separator: string): Markup =>
  html`${pieces.map((piece, index) => [index === 0 ? "" : separator, piece])}`

/** What tells one alternative from the others: the members that can have one value only, or its type. */
const variantName = (document: OpenApiDocument, variant: JsonSchema): Markup => {
  const { schema } = plain(document, variant)
  const [tag] = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const values = plain(document, member).schema.enum
    return values?.length === 1 ? [`${name}: ${JSON.stringify(values[0])}`] : []
  })
  return tag === undefined ? html`${typeName(document, variant)}` : html`<code>${tag}</code>`
}

const hasParts = (document: OpenApiDocument, schema: JsonSchema, outer: ReadonlyArray<JsonSchema>): boolean => {
  const { schema: target, variants } = plain(document, schema)
  if (outer.includes(target)) return false
  const inner = [...variants, elementOf(target)].filter((each) => each !== undefined)
  return target.properties !== undefined || inner.some((each) => hasParts(document, each, [...outer, target]))
}

/** What a value consists of, folded; nothing for a value without parts. */
const partsOf = (document: OpenApiDocument, schema: JsonSchema, outer: ReadonlyArray<JsonSchema>): Markup => {
  const { schema: target, variants } = plain(document, schema)
  if (outer.includes(target)) return html``
  const path = [...outer, target]
  const element = elementOf(target)
  if (element !== undefined) return partsOf(document, element, path)
  const parted = variants.filter((variant) => hasParts(document, variant, path))
  if (parted.length > 0) {
    return html`${parted.map((variant) => {
      const inner = plain(document, variant).schema
      const element = elementOf(inner)
      return element === undefined
        ? html`<details class="parts">
            <summary>${variantName(document, variant)}</summary>
            ${memberList(document, inner, path)}
          </details>`
        : partsOf(document, element, path)
    })}`
  }
  const count = Object.keys(target.properties ?? {}).length
  return count === 0
    ? html``
    : html`<details class="parts">
        <summary>${count === 1 ? "1 attribute" : `${count} attributes`}</summary>
        ${memberList(document, target, path)}
      </details>`
}

export interface Attribute {
  readonly name: string
  readonly schema: JsonSchema
  readonly isRequired: boolean
  readonly description?: string | undefined
}

const attribute =
  (document: OpenApiDocument, outer: ReadonlyArray<JsonSchema>) =>
  (given: Attribute): Markup => {
    const { description, schema, variants } = plain(document, given.schema)
    const text = given.description ?? description
    const limits = limitsOf(variants.length > 0 ? {} : schema)
    return html`<li>
      <div class="attribute">
        <code class="name">${given.name}</code>
        <span class="type">${typeOf(document, given.schema)}</span>
        ${given.isRequired && html`<span class="required">required</span>`}
      </div>
      ${text !== undefined && html`<p>${inlineMarkdown(text)}</p>`}
      ${limits.length > 0 && html`<p class="limits">${join(limits, ". ")}</p>`}
      ${partsOf(document, given.schema, outer)}
    </li>`
  }

const memberList = (document: OpenApiDocument, schema: JsonSchema, outer: ReadonlyArray<JsonSchema>): Markup =>
  html`<ul class="attributes">
    ${Object.entries(schema.properties ?? {})
      .map(([name, member]) => ({ name, schema: member, isRequired: schema.required?.includes(name) ?? false }))
      .map(attribute(document, outer))}
  </ul>`

/** A list of attributes that do not belong to one schema, such as the headers of a request. */
export const attributeList = (document: OpenApiDocument, attributes: ReadonlyArray<Attribute>): Markup =>
  html`<ul class="attributes">
    ${attributes.map(attribute(document, []))}
  </ul>`

/** The members of an object, or what a value that is no object is. */
export const schemaAttributes = (document: OpenApiDocument, schema: JsonSchema): Markup => {
  const { schema: target } = plain(document, schema)
  return target.properties === undefined
    ? html`<p class="type">${typeOf(document, schema)}</p>
        ${partsOf(document, schema, [])}`
    : memberList(document, target, [target])
}
