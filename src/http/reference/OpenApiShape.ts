/**
 * The parts of an OpenAPI 3.1 document that the reference page reads. They are types alone: the document is made from
 * the API's own definition, so it is not checked again here.
 */

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly default?: unknown
  readonly examples?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema | false
  readonly prefixItems?: ReadonlyArray<JsonSchema>
  readonly contentSchema?: JsonSchema
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}

export interface OpenApiExample {
  readonly summary?: string
  readonly value: unknown
}

export interface OpenApiMedia {
  readonly schema?: JsonSchema
  readonly examples?: { readonly [name: string]: OpenApiExample }
  /** The last `data:` line of a stream. */
  readonly "x-stream-end"?: string
  /** The schema of our errors, where those of the operation have another shape. */
  readonly "x-own-errors"?: JsonSchema
}

export interface OpenApiHeader {
  readonly $ref?: string
  readonly description?: string
  readonly schema?: JsonSchema
}

export interface OpenApiResponse {
  readonly description: string
  readonly headers?: { readonly [name: string]: OpenApiHeader }
  readonly content?: { readonly [contentType: string]: OpenApiMedia }
}

export interface OpenApiParameter {
  readonly name: string
  readonly in: "path" | "query" | "header" | "cookie"
  readonly required?: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

export interface OpenApiOperation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters: ReadonlyArray<OpenApiParameter>
  readonly requestBody?: { readonly content: { readonly [contentType: string]: OpenApiMedia } }
  readonly responses: { readonly [status: string]: OpenApiResponse }
  readonly security: ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>>
  /** The method of the `openai` packages that makes this call. */
  readonly "x-openai-method"?: string
}

export interface OpenApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly servers?: ReadonlyArray<{ readonly url: string }>
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: { readonly [path: string]: { readonly [method: string]: OpenApiOperation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: JsonSchema }
    readonly headers?: { readonly [name: string]: OpenApiHeader }
    readonly securitySchemes: { readonly [name: string]: { readonly description?: string; readonly scheme?: string } }
  }
}

/** What a reference within the document points to; the thing itself when it is not a reference. */
export const resolved = <Part extends { readonly $ref?: string }>(document: OpenApiDocument, part: Part): Part => {
  if (part.$ref === undefined) return part
  const target = part.$ref
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined), document)
  if (target === undefined) throw new Error(`${part.$ref} is not in the document`)
  // The document's generator refers to parts of the same kind only.
  return resolved(document, target as Part)
}
