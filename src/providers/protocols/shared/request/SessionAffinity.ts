/**
 * Keeps the requests of one session on the provider's warm cache. The affinity key is opaque and bound to the
 * organization; the client's own session id is never sent.
 */
import type { WireCall } from "../../Protocol.ts"
import type { Dialect } from "../Dialects.ts"
import { digest } from "./WireIds.ts"

/** The header in which the server wants the key, if it wants one. */
export const affinityHeaders = ({ affinity }: WireCall, dialect: Dialect): { readonly [name: string]: string } => {
  const header = dialect.affinity?.header
  return header !== undefined && affinity !== undefined ? { [header]: affinity } : {}
}

/** OpenAI refuses longer cache keys. */
const maxCacheKeyLength = 64

/** The `prompt_cache_key` member: the client's key, or else the affinity key of the session. */
export const promptCacheKey = ({ affinity, request }: WireCall, dialect: Dialect): string | undefined => {
  const key = request.promptCacheKey ?? affinity
  if (!dialect.promptCacheKey || key === undefined) return undefined
  return key.length <= maxCacheKeyLength ? key : digest(key, 32)
}

/** OpenAI's models that refuse a retention time: small and audio models, the o series, and those before gpt-4.1. */
const withoutRetention = /^(?:gpt-(?:3|4o|4-|audio|realtime)|o\d|chatgpt)|(?<!codex)-(?:mini|nano)(?:-|$)/
/** These keep every prompt for a day, and refuse to keep it for less. */
const onlyLongRetention = /^gpt-5\.5/

/** The `prompt_cache_retention` member: what the client asked for, from models that take it. A hint, so it may go. */
export const promptCacheRetention = ({ model, request, upstream }: WireCall, dialect: Dialect): string | undefined => {
  const { promptCacheRetention: asked } = request
  if (!dialect.promptCacheRetention || asked === undefined) return undefined
  const names = [upstream, model.id]
  if (names.some((name) => withoutRetention.test(name))) return undefined
  return asked !== "24h" && names.some((name) => onlyLongRetention.test(name)) ? undefined : asked
}
