/**
 * Logs what a provider's "not found" probably is, because the request is answered elsewhere and nothing else shows it:
 * a base URL with a wrong path, an API that the server does not have, or a model that this account does not have. Each
 * is an entry that names the variable to look at, and comes once, not with every request.
 */
import { Effect } from "effect"

import type { ProviderAccount } from "../../catalog/Provider.ts"
import type { Failure } from "../../domain/Failure.ts"
import { namesUnknownPath } from "./AccountLimitations.ts"

/** The call that failed. */
export interface FailedCall {
  readonly account: ProviderAccount
  /** The path that was appended to the base URL. */
  readonly path: string
  /** The model's name at this provider. */
  readonly upstream: string
}

/** What is probably wrong. */
export interface NotFoundCause {
  readonly kind: "path" | "model"
  /** A sentence without its full stop. */
  readonly text: string
  /** The environment variable to look at. */
  readonly variable: string
}

export interface NotFoundLog {
  /** Logs the cause of a failure, if it is one of these and was not logged before. */
  readonly report: (call: FailedCall, failure: Failure) => Effect.Effect<void>
}

/** The log of this process. It remembers at most a path per provider and a model per endpoint. */
export const makeNotFoundLog = (): NotFoundLog => {
  const logged = new Set<string>()
  return {
    report: (call, failure) => {
      const cause = notFoundCause(call, failure)
      if (cause === undefined) return Effect.void
      const { account, upstream } = call
      const key = `${account.provider.id} ${cause.kind === "path" ? "" : upstream}`
      if (logged.has(key)) return Effect.void
      logged.add(key)
      return Effect.logError(cause.text).pipe(
        Effect.annotateLogs({
          provider: account.provider.id,
          path: fullPath(call),
          ...(cause.kind === "model" && { model: upstream }),
          ...(failure.status !== undefined && { status: failure.status }),
          variable: cause.variable
        })
      )
    }
  }
}

/** The probable cause of a failure that reports something missing; `undefined` for any other failure. */
export const notFoundCause = (call: FailedCall, failure: Failure): NotFoundCause | undefined => {
  const { provider } = call.account
  if (namesModel(call, failure)) {
    const variable = provider.apiKeyEnv
    return {
      kind: "model",
      text: `A provider does not have a model of the catalog, or the account of ${variable} may not use it`,
      variable
    }
  }
  return isMissingPath(failure)
    ? { kind: "path", text: `A provider has no such path: ${pathFault(call)}`, variable: provider.baseUrlEnv }
    : undefined
}

const namesModel = ({ path, upstream }: FailedCall, failure: Failure): boolean => {
  const { message, reason, status } = failure
  if (reason._tag === "Unsupported" && reason.isModelMissing === true) return true
  if (status !== 404 || namesUnknownPath(failure) || isPage(message)) return false
  // In some protocols the model is a part of the path, so that a path which is not there is a model.
  return /\bmodels?\b|\bdeployments?\b/i.test(message) || path.includes(upstream)
}

/** A text that holds no more than that nothing was found. */
const bareText = /^(?:[\w ]*not found\b.{0,40}|method not allowed|the provider answered 40[45] without a reason)\.?$/i

const isMissingPath = (failure: Failure): boolean =>
  namesUnknownPath(failure) ||
  ((failure.status === 404 || failure.status === 405) && (bareText.test(failure.message) || isPage(failure.message)))

const isPage = (message: string): boolean => message.endsWith("with a web page.")

const pathFault = (call: FailedCall): string => {
  const { baseUrl, provider } = call.account
  const usual = pathOf(provider.baseUrl)
  if (/\/(v\d\w*)\/\1\//.test(fullPath(call))) return `${provider.baseUrlEnv} should not end in the version`
  if (usual !== "" && !pathOf(baseUrl).endsWith(usual)) return `${provider.baseUrlEnv} usually ends in ${usual}`
  return `the server does not have this API; see ${provider.baseUrlEnv}`
}

/** The path of the URL that was called, without its query. */
const fullPath = ({ account, path }: FailedCall): string => `${pathOf(account.baseUrl)}${path.split("?", 1).join("")}`

const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/]*/i, "").replace(/\/+$/, "")
