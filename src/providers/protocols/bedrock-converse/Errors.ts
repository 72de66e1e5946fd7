/**
 * What went wrong, by the name that AWS gives an error: in a header of a refused request, as the type of an event in a
 * stream. What the name leaves open is settled by the classifier that all protocols share.
 */
import type { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse } from "../Protocol.ts"
import * as ErrorClassifier from "../shared/ErrorClassifier.ts"
import type { Verdict } from "../shared/ErrorTables.ts"
import { asObject, asText, type Fields, parsed } from "../shared/Field.ts"

/** By name, in lower case: answers and streams spell them differently. */
const verdicts: ReadonlyMap<string, Verdict> = new Map([
  ["throttlingexception", "rate_limited"],
  ["toomanyrequestsexception", "rate_limited"],
  ["servicequotaexceededexception", "rate_limited"],
  ["modelnotreadyexception", "overloaded"],
  ["serviceunavailableexception", "overloaded"],
  ["modeltimeoutexception", "timeout"],
  ["modelerrorexception", "server"],
  ["modelstreamerrorexception", "server"],
  ["internalserverexception", "server"],
  ["internalfailure", "server"],
  ["resourcenotfoundexception", "Unsupported"],
  ["accessdeniedexception", "Credentials"],
  ["unrecognizedclientexception", "Credentials"],
  ["expiredtokenexception", "Credentials"],
  ["invalidsignatureexception", "Credentials"],
  ["incompletesignature", "Credentials"],
  ["incompletesignatureexception", "Credentials"],
  ["missingauthenticationtokenexception", "Credentials"],
  ["invalidclienttokenid", "Credentials"],
  ["optinrequired", "Credentials"]
])

/** What AWS calls invalid and is a matter of this model: its name, or what it can do. */
const modelsOwn = /model identifier|(?:isn't|isn’t|not) supported|(?:doesn't|doesn’t|not) support\b/i

/** The failure behind an answer with an error status. */
export const failureOf = (response: ErrorResponse): Failure => {
  // `ThrottlingException:http://internal.amazon.com/…`
  const name = response.headers["x-amzn-errortype"]?.split(":", 1)[0]
  return named(name ?? nameIn(asObject(parsed(response.body)) ?? {}) ?? "", ErrorClassifier.failureOfResponse(response))
}

/** The failure inside an answer that calls itself a success, if there is one. */
export const failureInside = (fields: Fields): Failure | undefined => {
  const name = nameIn(fields)
  return name === undefined ? undefined : named(name, ErrorClassifier.failureOfError(fields))
}

/** The failure that an exception in a stream stands for. */
export const failureIn = (event: string, data: string): Failure =>
  named(event, ErrorClassifier.failureOfError(parsed(data) ?? data))

/** `com.amazon.coral.service#ThrottlingException` */
const nameIn = (body: Fields): string | undefined => asText(body["__type"])?.split("#").at(-1)

const named = (name: string, failure: Failure): Failure => {
  const { message, reason, status } = failure
  const known = {
    ...(status !== undefined && { status }),
    ...(reason._tag === "Transient" && reason.retryAfter && { wait: reason.retryAfter })
  }
  const verdict = verdictOf(name.toLowerCase(), failure)
  return verdict === undefined ? failure : ErrorClassifier.failed(verdict, message, known)
}

const verdictOf = (name: string, { message, reason }: Failure): Verdict | undefined => {
  if (name !== "validationexception") return verdicts.get(name)
  if (modelsOwn.test(message)) return "Unsupported"
  // The same request would be refused again, whatever its text reminds of.
  return reason._tag === "Transient" ? "Invalid" : undefined
}
