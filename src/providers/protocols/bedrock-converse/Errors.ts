/**
 * Errors of Converse, by the name that AWS gives them: in a header of a response with an error status, in the `__type`
 * of a body, or as the type of an event in a stream. Where the name decides nothing, the general rules do.
 */
import type { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse, ProviderFrame } from "../Protocol.ts"
import { classifyError, classifyResponse, withKind } from "../shared/errors/ErrorClassifier.ts"
import type { FailureKind } from "../shared/errors/FailureKind.ts"
import { asObject, asText, type Fields, firstText, parsed } from "../shared/Field.ts"
import { lookupTable } from "../shared/LookupTable.ts"

/** In lower case, because responses and streams spell the names differently. */
const exceptions: ReadonlyMap<string, FailureKind> = lookupTable<FailureKind>({
  rate_limited: [
    "throttlingexception",
    "throttledexception",
    "throttling",
    "toomanyrequestsexception",
    "requestlimitexceeded",
    "servicequotaexceededexception"
  ],
  overloaded: ["modelnotreadyexception", "serviceunavailableexception", "serviceunavailable"],
  timeout: ["modeltimeoutexception"],
  server: ["modelerrorexception", "modelstreamerrorexception", "internalserverexception", "internalfailure"],
  Unsupported: ["resourcenotfoundexception", "unknownoperationexception"],
  Credentials: [
    "accessdeniedexception",
    "unrecognizedclientexception",
    "expiredtokenexception",
    "expiredtoken",
    "requestexpired",
    "invalidsignatureexception",
    "signaturedoesnotmatch",
    "incompletesignature",
    "incompletesignatureexception",
    "missingauthenticationtokenexception",
    "invalidclienttokenid",
    "optinrequired"
  ]
})

/** The failure behind a response with an error status. */
export const failureOfResponse = (response: ErrorResponse): Failure => {
  const header = response.headers["x-amzn-errortype"]
  const name = header === undefined ? nameIn(asObject(parsed(response.body)) ?? {}) : bareName(header)
  return withName(classifyResponse(response), name ?? "")
}

/** The failure that a body reports. */
export const failureInBody = (fields: Fields): Failure | undefined => {
  const name = nameIn(fields)
  return name === undefined ? undefined : withName(classifyError(fields), name)
}

/** The failure that a frame of a stream stands for: exceptions are events of their own types. */
export const failureOfEvent = ({ data, event }: ProviderFrame): Failure | undefined =>
  /exception$|^error$/i.test(event) ? withName(classifyError(parsed(data) ?? data), event) : undefined

/** AWS puts the name under either of these, and one level down where it does not know the operation. */
const nameIn = (body: Fields): string | undefined => {
  const name = firstText(body, ["__type", "code"]) ?? asText(asObject(body["Output"])?.["__type"])
  return name === undefined ? undefined : bareName(name)
}

/** Reads `com.amazon.coral.service#ThrottlingException:http://internal.amazon.com/…`, and parts of it. */
const bareName = (name: string): string => name.split(":", 1).join("").split("#").at(-1) ?? ""

const withName = (failure: Failure, name: string): Failure => {
  const kind = kindOf(failure, name.toLowerCase())
  return kind === undefined ? failure : withKind(failure, kind)
}

const kindOf = ({ reason }: Failure, name: string): FailureKind | undefined => {
  if (name !== "validationexception") return exceptions.get(name)
  // The same request would be refused again, whatever the general rules read in its message.
  return reason._tag === "Transient" ? "Invalid" : undefined
}
