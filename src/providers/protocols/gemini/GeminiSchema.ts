/** JSON Schemas as Gemini takes them. It ignores `const`, so a fixed value becomes a choice of one. */
import { asArray, asObject, type Fields } from "../shared/Field.ts"
import { within } from "../shared/JsonSchema.ts"

/** A schema, its members in the order the client wrote them. */
export const geminiSchema = (schema: Fields): Fields =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): ReadonlyArray<readonly [string, unknown]> => {
      if (key === "$schema" || (key === "enum" && "const" in schema)) return []
      return [key === "const" ? ["enum", [value]] : [key, within(key, value, geminiSchema)]]
    })
  )

/** True for the schema of a function without parameters, which older models refuse to be told. */
export const hasNoParameters = (schema: Fields): boolean =>
  Object.entries(schema).every(([key, value]) => {
    if (key === "properties") return Object.keys(asObject(value) ?? {}).length === 0
    if (key === "required") return asArray(value).length === 0
    return key === "type" || key === "$schema" || (key === "additionalProperties" && value === false)
  })
