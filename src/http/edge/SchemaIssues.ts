/** What a schema finds wrong with a request, as one line for the client. It never quotes a value. */
import { type Schema, SchemaIssue } from "effect"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** The path and the message of the first issue, such as `messages[0].content: Missing key`. */
export const firstIssue = (error: Schema.SchemaError): string | undefined => {
  const [first] = format(error.issue).issues
  if (first === undefined) return undefined
  const path = (first.path ?? []).reduce<string>((written, segment) => {
    const key = typeof segment === "object" ? segment.key : segment
    if (typeof key === "number") return `${written}[${key}]`
    return written === "" ? String(key) : `${written}.${String(key)}`
  }, "")
  // `null` means omitted, so the message must not list it among the expected values.
  const message = first.message.replaceAll(/ \| null\b/g, "")
  return path === "" ? message : `${path}: ${message}`
}
