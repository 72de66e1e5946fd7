/**
 * Formats that a provider has no switch for, asked for in words. The words are constant for a format, so that they do
 * not disturb a cached prefix.
 */
import type { ResponseFormat } from "../../../domain/Conversation.ts"

export const objectInstruction = "Answer with one JSON object and nothing else: no text around it and no code fences."

/** The sentence that asks for `format`. */
export const instructionOf = (format: Exclude<ResponseFormat, { readonly type: "text" }>): string =>
  format.type === "json_object"
    ? objectInstruction
    : `${objectInstruction} It must be valid against this JSON Schema: ${JSON.stringify(format.schema)}`
