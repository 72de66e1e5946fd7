/** What a label may be, wherever it stands in a request; it goes to the receipt and to reports as it is. */

/** Characters, as JavaScript counts them. */
export const maxCallNameLength = 64
export const maxEndUserIdLength = 512

/** Text of 1 to `maxLength` characters that is not only whitespace. */
export const isLabel = (value: unknown, maxLength: number): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= maxLength

/** The rule in words, about the label at a path such as `metadata.call_name`. */
export const labelRule = (path: string, maxLength: number): string =>
  `${path} must be text of 1 to ${maxLength} characters that is not only whitespace`
