/**
 * The rules for the labels `call_name` and `end_user_id`, wherever they stand in a request. A label is stored in the
 * receipt exactly as it was sent.
 */

/** In UTF-16 code units, as JavaScript counts characters. */
export const maxCallNameLength = 64
/** In UTF-16 code units. */
export const maxEndUserIdLength = 512

/** True for text of 1 to `maxLength` characters that is not only whitespace. */
export const isLabel = (value: unknown, maxLength: number): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= maxLength

/** The rule as an error message about the label at a path such as `metadata.call_name`. */
export const labelRule = (path: string, maxLength: number): string =>
  `${path} must be text of 1 to ${maxLength} characters that is not only whitespace`
