/** All that the sandbox remembers: cached prefixes and faults already shown. Bounded; the oldest entry goes first. */
import { Clock, Duration, Effect } from "effect"

import { sandboxDigest } from "./Digest.ts"
import type { Fault } from "./Directives.ts"
import { countTokens, type Prompt, type PromptTokens } from "./Prompt.ts"

const maxEntries = 10_000
/** How long a message counts as seen, for faults that show only once. */
const seenFor = Duration.minutes(1)
const lifetimes = { "5m": Duration.minutes(5), "1h": Duration.hours(1) } as const

export interface SandboxMemory {
  /** The faults of a prompt that apply at this endpoint, now. */
  readonly applying: (faults: ReadonlyArray<Fault>, place: FaultContext) => Effect.Effect<ReadonlyArray<Fault>>
  /** Prompt tokens by bucket; remembers the prompt's marked prefixes. */
  readonly promptTokens: (prompt: Prompt) => Effect.Effect<PromptTokens>
}

/** Where a message arrived. */
export interface FaultContext {
  readonly message: string
  readonly model: string
  /** Tells endpoints apart that serve models of the same name. */
  readonly account: string
}

export const makeSandboxMemory = (): SandboxMemory => {
  const prefixes = makeExpiringMap<true>()
  const firstEndpoints = makeExpiringMap<string>()
  const shown = makeExpiringMap<true>()
  const applies = (fault: Fault, place: FaultContext, now: number): boolean => {
    if (fault.model !== undefined && !isSameModel(fault.model, place.model)) return false
    if (fault.when === "always") return true
    const until = now + Duration.toMillis(seenFor)
    const message = sandboxDigest(`${fault.name}:${place.message}`, 24)
    if (fault.when === "once") {
      const isNew = shown.get(message, now) === undefined
      if (isNew) shown.set(message, true, until)
      return isNew
    }
    const endpoint = `${place.account}/${place.model}`
    const first = firstEndpoints.get(message, now) ?? endpoint
    firstEndpoints.set(message, first, until)
    return first === endpoint
  }
  const tokensOf = ({ text, breakpoints }: Prompt, now: number): PromptTokens => {
    const total = countTokens(text)
    const known = breakpoints.findLast(({ prefix }) => prefixes.get(sandboxDigest(prefix, 24), now) !== undefined)
    const cacheRead = known === undefined ? 0 : Math.min(countTokens(known.prefix), total)
    const writes = { "5m": 0, "1h": 0 }
    let covered = cacheRead
    for (const { prefix, ttl } of breakpoints) {
      prefixes.set(sandboxDigest(prefix, 24), true, now + Duration.toMillis(lifetimes[ttl]))
      const reach = Math.min(countTokens(prefix), total)
      writes[ttl] += Math.max(0, reach - covered)
      covered = Math.max(covered, reach)
    }
    return { fresh: total - covered, cacheRead, cacheWrite5m: writes["5m"], cacheWrite1h: writes["1h"] }
  }
  return {
    applying: (faults, place) =>
      Effect.map(Clock.currentTimeMillis, (now) => faults.filter((fault) => applies(fault, place, now))),
    promptTokens: (prompt) => Effect.map(Clock.currentTimeMillis, (now) => tokensOf(prompt, now))
  }
}

/** Providers and endpoint ids put names before a model's own: `openai/gpt-oss-20b`. */
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
