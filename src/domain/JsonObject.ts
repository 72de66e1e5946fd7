/** A JSON object whose members are not known yet: each is narrowed where it is read. */
export type JsonObject = { readonly [key: string]: unknown }

/** True for an object that is neither an array nor null. */
export const isPlainObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
