/**
 * Everything that the sandbox remembers between requests: cached prefixes, and messages whose faults have occurred. The
 * memory is bounded; the oldest entry is dropped first.
 */
import { Clock, Duration, Effect } from "effect"

import { sandboxDigest } from "./Digest.ts"
import type { Fault } from "./Directives.ts"
import type { PromptTokens } from "./SimulatedReply.ts"
import { countTokens, type SimulatedRequest } from "./SimulatedRequest.ts"

const maxEntries = 10_000
/** How long a message is remembered, for faults that do not occur every time. */
const messageLifetime = Duration.minutes(1)
const cacheLifetimes = { "5m": Duration.minutes(5), "1h": Duration.hours(1) } as const

/** The memory of one running sandbox. */
export interface SandboxState {
  /** The faults of a message that apply at this endpoint, now. */
  readonly applyingFaults: (faults: ReadonlyArray<Fault>, context: FaultContext) => Effect.Effect<ReadonlyArray<Fault>>
  /** The prompt tokens of a request, by how they are billed. Remembers the prefixes that the request marks. */
  readonly promptTokens: (request: SimulatedRequest) => Effect.Effect<PromptTokens>
}

/** Where a message arrived. */
export interface FaultContext {
  readonly message: string
  readonly model: string
  /** The API key, which distinguishes endpoints that serve models of the same name. */
  readonly account: string
}

export const makeSandboxState = (): SandboxState => {
  const prefixes = makeExpiringMap<true>()
  const firstEndpoints = makeExpiringMap<string>()
  const occurred = makeExpiringMap<true>()
  const applies = (fault: Fault, context: FaultContext, now: number): boolean => {
    if (fault.model !== undefined && !isSameModel(fault.model, context.model)) return false
    if (fault.when === "always") return true
    const until = now + Duration.toMillis(messageLifetime)
    const message = sandboxDigest(`${fault.name}:${context.message}`, 24)
    if (fault.when === "once") {
      const isNew = occurred.get(message, now) === undefined
      if (isNew) occurred.set(message, true, until)
      return isNew
    }
    const endpoint = `${context.account}/${context.model}`
    const first = firstEndpoints.get(message, now) ?? endpoint
    firstEndpoints.set(message, first, until)
    return first === endpoint
  }
  const tokensOf = ({ promptText, cacheBreakpoints }: SimulatedRequest, now: number): PromptTokens => {
    const total = countTokens(promptText)
    const known = cacheBreakpoints.findLast(({ prefix }) => prefixes.get(sandboxDigest(prefix, 24), now) !== undefined)
    const cacheRead = known === undefined ? 0 : Math.min(countTokens(known.prefix), total)
    const writes = { "5m": 0, "1h": 0 }
    let covered = cacheRead
    for (const { prefix, ttl } of cacheBreakpoints) {
      prefixes.set(sandboxDigest(prefix, 24), true, now + Duration.toMillis(cacheLifetimes[ttl]))
      const reach = Math.min(countTokens(prefix), total)
      writes[ttl] += Math.max(0, reach - covered)
      covered = Math.max(covered, reach)
    }
    return { fresh: total - covered, cacheRead, cacheWrite5m: writes["5m"], cacheWrite1h: writes["1h"] }
  }
  return {
    applyingFaults: (faults, context) =>
      Effect.map(Clock.currentTimeMillis, (now) => faults.filter((fault) => applies(fault, context, now))),
    promptTokens: (request) => Effect.map(Clock.currentTimeMillis, (now) => tokensOf(request, now))
  }
}

/** True for the same model under two ids: providers put names before a model's own, as in `openai/gpt-oss-20b`. */
const isSameModel = (one: string, other: string): boolean =>
  one === other || one.endsWith(`/${other}`) || other.endsWith(`/${one}`)

const makeExpiringMap = <A>() => {
  const entries = new Map<string, { readonly value: A; readonly until: number }>()
  return {
    get: (key: string, now: number): A | undefined => {
      const entry = entries.get(key)
      return entry !== undefined && entry.until > now ? entry.value : undefined
    },
    set: (key: string, value: A, until: number): void => {
      entries.delete(key)
      entries.set(key, { value, until })
      const [oldest] = entries.keys()
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
    }
  }
}
