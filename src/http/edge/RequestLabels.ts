/**
 * The rules for the labels `call_name` and `end_user_id`, wherever they stand in a request. A label is stored in the
 * receipt exactly as it was sent.
 */
import { hasAtMostCharacters } from "../../domain/TextLength.ts"

/** In code points. */
export const maxCallNameLength = 64
/** In code points. */
export const maxEndUserIdLength = 512

/** True for text of 1 to `maxLength` characters that is not only whitespace. */
export const isLabel = (value: unknown, maxLength: number): value is string =>
  typeof value === "string" && value.trim() !== "" && hasAtMostCharacters(value, maxLength)

/** The rule as an error message about the label at a path such as `metadata.call_name`. */
export const labelRule = (path: string, maxLength: number): string =>
  `${path} must be text of 1 to ${maxLength} characters that is not only whitespace`
