/**
 * Errors of Converse, by the name that AWS gives them: in a header of a response with an error status, in the `__type`
 * of a body, or as the type of an event in a stream. Where the name decides nothing, the general rules do.
 */
import type { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse, ProviderFrame } from "../Protocol.ts"
import { classifyError, classifyResponse, withKind } from "../shared/errors/ErrorClassifier.ts"
import type { FailureKind } from "../shared/errors/FailureKind.ts"
import { asObject, asText, type Fields, parsed } from "../shared/Field.ts"
import { lookupTable } from "../shared/LookupTable.ts"

/** In lower case, because responses and streams spell the names differently. */
const exceptions: ReadonlyMap<string, FailureKind> = lookupTable<FailureKind>({
  rate_limited: ["throttlingexception", "toomanyrequestsexception", "servicequotaexceededexception"],
  overloaded: ["modelnotreadyexception", "serviceunavailableexception"],
  timeout: ["modeltimeoutexception"],
  server: ["modelerrorexception", "modelstreamerrorexception", "internalserverexception", "internalfailure"],
  Unsupported: ["resourcenotfoundexception"],
  Credentials: [
    "accessdeniedexception",
    "unrecognizedclientexception",
    "expiredtokenexception",
    "invalidsignatureexception",
    "incompletesignature",
    "incompletesignatureexception",
    "missingauthenticationtokenexception",
    "invalidclienttokenid",
    "optinrequired"
  ]
})

/** The failure behind a response with an error status. */
export const failureOfResponse = (response: ErrorResponse): Failure => {
  // The header holds `ThrottlingException:http://internal.amazon.com/…`.
  const name = response.headers["x-amzn-errortype"]?.split(":", 1)[0]
  return withName(classifyResponse(response), name ?? nameIn(asObject(parsed(response.body)) ?? {}) ?? "")
}

/** The failure that a body reports. */
export const failureInBody = (fields: Fields): Failure | undefined => {
  const name = nameIn(fields)
  return name === undefined ? undefined : withName(classifyError(fields), name)
}

/** The failure that a frame of a stream stands for: exceptions are events of their own types. */
export const failureOfEvent = ({ data, event }: ProviderFrame): Failure | undefined =>
  /exception$|^error$/i.test(event) ? withName(classifyError(parsed(data) ?? data), event) : undefined

/** Reads `com.amazon.coral.service#ThrottlingException`. */
const nameIn = (body: Fields): string | undefined => asText(body["__type"])?.split("#").at(-1)

const withName = (failure: Failure, name: string): Failure => {
  const kind = kindOf(failure, name.toLowerCase())
  return kind === undefined ? failure : withKind(failure, kind)
}

const kindOf = ({ reason }: Failure, name: string): FailureKind | undefined => {
  if (name !== "validationexception") return exceptions.get(name)
  // The same request would be refused again, whatever the general rules read in its message.
  return reason._tag === "Transient" ? "Invalid" : undefined
}
