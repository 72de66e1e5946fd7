/**
 * Turns what a provider says went wrong into a `Failure`, whatever shape it says it in: with an error status, inside a
 * success, or as an event of a stream. The message is the provider's own, without anything that looks like a key.
 */
import { Duration } from "effect"

import { Failure, type FailureReason } from "../../../domain/Failure.ts"
import type { ErrorResponse } from "../Protocol.ts"
import { codes, generalCodes, statuses, texts, type TransientKind, type Verdict } from "./ErrorTables.ts"
import { asArray, asNumber, asObject, asText, type Fields, firstText, parsed } from "./Field.ts"

/** What an error body says, its codes the most telling first. */
interface Complaint {
  readonly codes: ReadonlyArray<string>
  readonly message: string
  /** A status the body itself names; errors inside a success have no other. */
  readonly status?: number
}

type Headers = ErrorResponse["headers"]

/** A failure that the gateway states by itself. */
export const failed = (
  verdict: Verdict,
  message: string,
  details: { status?: number; wait?: Duration.Duration } = {}
) =>
  new Failure({
    reason: reasonOf(verdict, details.wait),
    message: presentable(message),
    ...(details.status !== undefined && { status: details.status })
  })

export const unsupported = (message: string): Failure => failed("Unsupported", message)

/** The failure behind an answer with an error status. */
export const failureOfResponse = ({ body, headers, status }: ErrorResponse): Failure => {
  if (/^\s*<(?:!doctype|html|\?xml)/i.test(body.slice(0, 200)))
    return failed(status === 413 ? "ContextTooLong" : "server", `The provider answered ${status} with a web page.`, {
      status
    })
  if (body.trim() === "") return ofNothing(status, headers)
  const json = parsed(body)
  const complaint = json === undefined ? { codes: [], message: body } : complaintIn(json)
  return classified(complaint, status, headers)
}

/** The failure inside an answer that calls itself a success, if there is one. */
export const failureInBody = (fields: Fields): Failure | undefined =>
  complains(fields) ? failureOfError(fields) : undefined

/** The failure that an event marked as an error carries. */
export const failureOfError = (body: unknown): Failure => {
  const complaint = complaintIn(body)
  return classified(complaint, complaint.status, {})
}

const complains = (fields: Fields): boolean => {
  const { base_resp, error, object, type } = fields
  if (error !== undefined && error !== null && error !== "" && error !== false) return true
  if (object === "error" || type === "error") return true
  return base_resp !== undefined && (asNumber(asObject(base_resp)?.["status_code"]) ?? 0) !== 0
}

/** Cerebras answers a prompt that is too long with a bare 400. */
const ofNothing = (status: number, headers: Headers): Failure =>
  status === 400
    ? failed("ContextTooLong", "The provider answered 400 without a reason.", { status })
    : classified({ codes: [], message: `The provider answered ${status} without a reason.` }, status, headers)

const classified = (complaint: Complaint, status: number | undefined, headers: Headers): Failure => {
  const verdict = verdictOf(complaint, status, headers)
  const wait = waitOf(headers, complaint.message)
  return failed(verdict, complaint.message, { ...(status !== undefined && { status }), ...(wait && { wait }) })
}

const verdictOf = (complaint: Complaint, status: number | undefined, headers: Headers): Verdict => {
  if (status === 413) return "ContextTooLong"
  const decided = byCode(complaint, codes) ?? byText(complaint.message, status)
  if (decided !== undefined) return decided
  const verdict = byStatus(status) ?? byCode(complaint, generalCodes) ?? "server"
  const retry = headers["x-should-retry"]
  if (retry === "true" && !isTransient(verdict)) return "server"
  // A limit that waiting does not lift is one of our account.
  return retry === "false" && verdict === "rate_limited" ? "Credentials" : verdict
}

const byCode = (complaint: Complaint, table: ReadonlyMap<string, Verdict>): Verdict | undefined => {
  for (const code of complaint.codes) {
    const verdict = table.get(code)
    if (verdict !== undefined) return verdict
  }
  return undefined
}

const byText = (message: string, status: number | undefined): Verdict | undefined =>
  texts.find(
    (rule) =>
      (status === undefined || rule.statuses === undefined || rule.statuses.includes(status)) &&
      rule.pattern.test(message)
  )?.verdict

const byStatus = (status: number | undefined): Verdict | undefined => {
  if (status === undefined || status < 400) return undefined
  return statuses[status] ?? (status >= 500 ? "server" : "Invalid")
}

const transientKinds: { readonly [K in TransientKind]: true } = {
  rate_limited: true,
  overloaded: true,
  timeout: true,
  network: true,
  server: true,
  broken: true
}
const isTransient = (verdict: Verdict): verdict is TransientKind => verdict in transientKinds

const reasonOf = (verdict: Verdict, wait: Duration.Duration | undefined): FailureReason =>
  isTransient(verdict) ? { _tag: "Transient", kind: verdict, ...(wait && { retryAfter: wait }) } : { _tag: verdict }

/** Reads every shape of error body that providers use: they put the same few facts in many places. */
const complaintIn = (body: unknown): Complaint => {
  const fields = asObject(asArray(body)[0] ?? body) ?? { message: body }
  const base = asObject(fields["base_resp"])
  const nested = asObject(fields["error"])
  const error = nested ?? fields
  const inner = asObject(error["innererror"])
  const metadata = asObject(error["metadata"])
  const raw = rawComplaint(metadata?.["raw"])
  const flagged = metadata?.["reasons"] !== undefined || metadata?.["flagged_input"] !== undefined
  const said = asText(fields["error"]) ?? messageIn(error) ?? messageIn(fields) ?? asText(base?.["status_msg"])
  return {
    codes: [
      ...(flagged ? ["moderation"] : []),
      ...codesIn(asObject(error["details"]), ["error_code"]),
      ...(raw?.codes ?? []),
      ...codesIn(inner, ["code"]),
      ...codesIn(error, ["code", "type", "status", "error_type"]),
      ...codesIn(metadata, ["error_type"]),
      ...codesIn(base, ["status_code"]).map((code) => `base_resp.${code}`)
    ],
    message: (said === "Provider returned error" ? raw?.message : undefined) ?? said ?? "The provider gave no reason.",
    ...statusIn(error)
  }
}

/** OpenRouter hands on the upstream's own body as text. */
const rawComplaint = (raw: unknown): Complaint | undefined => {
  const text = asText(raw)
  if (text === undefined) return undefined
  const json = asObject(parsed(text))
  return json === undefined ? { codes: [], message: text } : complaintIn(json)
}

const codesIn = (fields: Fields | undefined, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
  fields === undefined
    ? []
    : keys.flatMap((key) => {
        const code = fields[key]
        return typeof code === "string" || typeof code === "number" ? [String(code)] : []
      })

/** A text, or the list of faults that validating servers send. */
const messageIn = (fields: Fields): string | undefined => {
  const text = firstText(fields, ["message", "Message", "detail", "error_description"])
  if (text !== undefined) return text
  const faults = asArray(fields["detail"] ?? asObject(fields["message"])?.["detail"]).flatMap((fault) => {
    const { loc, msg } = asObject(fault) ?? {}
    return asText(msg) === undefined ? [] : [`${asArray(loc).map(String).join(".")}: ${String(msg)}`]
  })
  return faults.length > 0 ? faults.join("; ") : undefined
}

const statusIn = (error: Fields): { readonly status?: number } => {
  const named = [error["status_code"], error["status"], error["code"]].map(asNumber)
  const status = named.find((value) => value !== undefined && value >= 400 && value < 600)
  return status === undefined ? {} : { status }
}

/** How long the provider asked us to wait. An HTTP date counts from the answer's own `date`, so no clock is needed. */
const waitOf = (headers: Headers, message: string): Duration.Duration | undefined => {
  const millis = asNumber(headers["retry-after-ms"])
  if (millis !== undefined) return waiting(millis)
  const after = headers["retry-after"]
  const seconds = asNumber(after)
  if (seconds !== undefined) return waiting(seconds * 1_000)
  if (after !== undefined) return waiting(Date.parse(after) - Date.parse(headers["date"] ?? ""))
  const spoken = /(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?\s?[a-z]+\s?){1,4})/i.exec(message)?.[1]
  return spoken === undefined ? undefined : waiting(millisIn(spoken))
}

const waiting = (millis: number): Duration.Duration | undefined =>
  Number.isFinite(millis) && millis >= 0 ? Duration.millis(Math.ceil(millis)) : undefined

const unitMillis: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000
}

/** `494ms`, `1m2.5s`, `20 seconds`. */
const millisIn = (text: string): number => {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s?(ms|milli|sec|s|min|m|h)/gi)]
  const factor = (unit: string): number => unitMillis[unit.toLowerCase()] ?? 1
  return parts.length === 0 ? NaN : parts.reduce((sum, [, value, unit = ""]) => sum + Number(value) * factor(unit), 0)
}

/** Characters of a provider's message that are worth showing. */
const messageLength = 500

const secrets =
  /\b(?:Bearer\s+\S{8,}|(?:sk|pk|rk|gsk|xai|hf|csk|fw|tgp)[-_][\w*-]{6,}|AIza[\w-]{20,}|[A-Za-z0-9]{32,})/g

/** One line, without keys, of bounded length. */
const presentable = (message: string): string => {
  const line = message
    .slice(0, 8 * messageLength)
    .replaceAll(/\s+/g, " ")
    .replaceAll(secrets, "[redacted]")
    .trim()
  return line.length <= messageLength ? line : `${line.slice(0, messageLength - 1)}…`
}
