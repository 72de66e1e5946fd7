/**
 * Reads the member of a chat request that is named after the service: what the client asks of the gateway itself. A
 * member of it that is not known here is refused by its name, because a client that sets one relies on it.
 */
import { Result } from "effect"

import { InvalidRequest, UnsupportedParameter } from "../../api/Errors.ts"
import { isPlainObject, type JsonObject } from "../../domain/JsonObject.ts"

/** What the client asks of the gateway. Everything is left out that it did not set. */
export interface ServiceMember {
  /** No target may get a parameter changed or not at all. */
  readonly strict?: true
}

/** The name of the service, of which `<service>-auto` is made. */
export const serviceNameOf = (autoModel: string): string => autoModel.replace(/-auto$/, "")

/** Members of the same object that are read elsewhere, or have a meaning for transcriptions alone. */
const readElsewhere: ReadonlySet<string> = new Set([
  "cost_quality",
  "max_cost_usd",
  "call_name",
  "end_user_id",
  "memory",
  "eval",
  "policy"
])

export const readServiceMember = (
  fields: JsonObject,
  serviceName: string
): Result.Result<ServiceMember, InvalidRequest | UnsupportedParameter> => {
  const member = fields[serviceName]
  if (member === undefined || member === null) return Result.succeed({})
  if (!isPlainObject(member)) return Result.fail(InvalidRequest.of(`${serviceName}: Expected an object`))
  const { strict, ...others } = member
  const unknown = Object.keys(others).find((name) => !readElsewhere.has(name) && others[name] !== null)
  if (unknown !== undefined)
    return Result.fail(UnsupportedParameter.of(`${serviceName}.${unknown.slice(0, 64)} is not supported`))
  if (strict === undefined || strict === null || strict === false) return Result.succeed({})
  return strict === true
    ? Result.succeed({ strict })
    : Result.fail(InvalidRequest.of(`${serviceName}.strict: Expected boolean`))
}
