/** Checks that bodies have in common in every protocol of clients: of the labels and of what the headers bring. */
import { InvalidCallName, InvalidEndUserId, InvalidRequest } from "../../api/Errors.ts"
import { hasAtMostCharacters } from "../../domain/TextLength.ts"
import { isLabel, labelRule, maxCallNameLength, maxEndUserIdLength } from "../edge/RequestLabels.ts"
import type { RequestContext } from "./ClientProtocol.ts"

/** In code points. */
export const maxSessionIdLength = 256

/** Of `metadata`, which may be anything: only `call_name` has a rule. */
export const badCallName = (metadata: unknown): InvalidCallName | undefined => {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return undefined
  const name = Reflect.get(metadata, "call_name")
  if (name === undefined || name === null) return undefined
  return isLabel(name, maxCallNameLength)
    ? undefined
    : InvalidCallName.of(labelRule("metadata.call_name", maxCallNameLength))
}

/** The label `call_name` of `metadata` that `badCallName` has passed. */
export const callNameIn = (metadata: unknown): string | undefined => {
  const name: unknown =
    typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "call_name") : undefined
  return typeof name === "string" ? name : undefined
}

/** Of the header for the end user. */
export const badEndUser = (header: string | undefined): InvalidEndUserId | undefined =>
  header === undefined || isLabel(header, maxEndUserIdLength)
    ? undefined
    : InvalidEndUserId.of(labelRule("x-end-user-id", maxEndUserIdLength))

/** Of the headers for the session and for the end user. */
export const badContext = ({
  endUserHeader,
  sessionHeader
}: RequestContext): InvalidRequest | InvalidEndUserId | undefined =>
  sessionHeader !== undefined && !hasAtMostCharacters(sessionHeader, maxSessionIdLength)
    ? InvalidRequest.of(`x-session-id must have at most ${maxSessionIdLength} characters`)
    : badEndUser(endUserHeader)
