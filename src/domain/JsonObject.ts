/** A JSON object whose members are not known yet: each is narrowed where it is read. */
export type JsonObject = { readonly [key: string]: unknown }

/** In a body, `null` means the same as a member that is not there. */
export const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

/** True for an object that is neither an array nor null. */
export const isPlainObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
