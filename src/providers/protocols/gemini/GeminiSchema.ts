/** JSON Schemas in the form that Gemini accepts. It ignores `const`, so a fixed value becomes an `enum` of one. */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { asArray, asObject } from "../shared/Field.ts"
import { rewriteSubschemas } from "../shared/request/JsonSchema.ts"

/** Any JSON Schema, rewritten. Its members stay in the order in which the client wrote them. */
export const geminiSchema = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): ReadonlyArray<readonly [string, unknown]> => {
      if (key === "$schema" || (key === "enum" && "const" in schema)) return []
      return [key === "const" ? ["enum", [value]] : [key, rewriteSubschemas(key, value, geminiSchema)]]
    })
  )

/** True for the schema of a function without parameters, which older models refuse to be given. */
export const hasNoParameters = (schema: JsonObject): boolean =>
  Object.entries(schema).every(([key, value]) => {
    if (key === "properties") return Object.keys(asObject(value) ?? {}).length === 0
    if (key === "required") return asArray(value).length === 0
    return key === "type" || key === "$schema" || (key === "additionalProperties" && value === false)
  })
