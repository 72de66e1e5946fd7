/**
 * Reads error bodies of every shape that providers use: they put the same few facts in many places. Nothing is decided
 * here; `ErrorClassifier` decides from what was read.
 */
import { asArray, asNumber, asObject, asText, type Fields, firstText, parsed } from "../Field.ts"

/** An error as its provider reports it. */
export interface ProviderError {
  /** Codes and types, the most specific first. */
  readonly codes: ReadonlyArray<string>
  readonly message: string
  /** An HTTP status that the body itself names; an error inside a success has no other. */
  readonly status?: number
  /** The member of the request that the error is about. */
  readonly parameter?: string
}

/** True for a body or chunk that reports an error although its response has a success status. */
export const reportsError = (fields: Fields): boolean => {
  const { base_resp, error, object, type } = fields
  if (error !== undefined && error !== null && error !== "" && error !== false) return true
  if (object === "error" || type === "error") return true
  return base_resp !== undefined && (asNumber(asObject(base_resp)?.["status_code"]) ?? 0) !== 0
}

/** The error in a body of any shape: an object, a list of one, or a bare text. */
export const providerErrorIn = (body: unknown): ProviderError => {
  const fields = asObject(asArray(body)[0] ?? body) ?? { message: body }
  const error = asObject(fields["error"]) ?? fields
  // MiniMax
  const base = asObject(fields["base_resp"])
  // OpenRouter
  const metadata = asObject(error["metadata"])
  const upstream = upstreamError(metadata?.["raw"])
  const isFlagged = metadata?.["reasons"] !== undefined || metadata?.["flagged_input"] !== undefined
  const message = asText(fields["error"]) ?? messageIn(error) ?? messageIn(fields) ?? asText(base?.["status_msg"])
  return {
    codes: [
      ...(isFlagged ? ["moderation"] : []),
      // Anthropic
      ...codesIn(asObject(error["details"]), ["error_code"]),
      ...(upstream?.codes ?? []),
      // Azure
      ...codesIn(asObject(error["innererror"]), ["code"]),
      ...codesIn(error, ["code"]),
      ...[...codesIn(base, ["status_code"]), ...codesAtEnd(message)].map((code) => `base_resp.${code}`),
      ...codesIn(error, ["type", "status", "error_type"]),
      ...codesIn(metadata, ["error_type"])
    ],
    message:
      (message === "Provider returned error" ? upstream?.message : undefined) ??
      message ??
      "The provider gave no reason.",
    ...statusIn(error),
    ...parameterIn(error, fields)
  }
}

/** OpenRouter hands on the body of the provider behind it as text. */
const upstreamError = (raw: unknown): ProviderError | undefined => {
  const text = asText(raw)
  if (text === undefined) return undefined
  const json = asObject(parsed(text))
  return json === undefined ? { codes: [], message: text } : providerErrorIn(json)
}

const codesIn = (fields: Fields | undefined, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
  fields === undefined
    ? []
    : keys.flatMap((key) => {
        const code = fields[key]
        return typeof code === "string" || typeof code === "number" ? [String(code)] : []
      })

/** MiniMax ends the messages of its other shapes with the code: `insufficient balance (1008)`. */
const codesAtEnd = (message: string | undefined): ReadonlyArray<string> =>
  /\((\d{4})\)$/.exec(message ?? "")?.slice(1) ?? []

/** A text, or the list of faults that servers with a validator send. */
const messageIn = (fields: Fields): string | undefined => {
  const text = firstText(fields, ["message", "Message", "detail", "error_description"])
  if (text !== undefined) return text
  const faults = asArray(fields["detail"] ?? asObject(fields["message"])?.["detail"]).flatMap((fault) => {
    const { loc, msg } = asObject(fault) ?? {}
    return asText(msg) === undefined ? [] : [`${asArray(loc).map(String).join(".")}: ${String(msg)}`]
  })
  return faults.length > 0 ? faults.join("; ") : undefined
}

const parameterIn = (error: Fields, body: Fields): { readonly parameter?: string } => {
  const parameter = asText(error["param"]) ?? asText(body["param"])
  return parameter === undefined ? {} : { parameter }
}

const statusIn = (error: Fields): { readonly status?: number } => {
  const candidates = [error["status_code"], error["status"], error["code"]].map(asNumber)
  const status = candidates.find((value) => value !== undefined && value >= 400 && value < 600)
  return status === undefined ? {} : { status }
}
