/** A JSON object whose members are not known yet: each is narrowed where it is read. */
export type JsonObject = { readonly [key: string]: unknown }
