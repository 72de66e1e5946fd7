/**
 * Which providers are switched on, and as whom to call them: from the environment, or, when nothing there switches a
 * provider on, the simulated provider behind every one of them.
 */
import { Effect, Redacted } from "effect"

import { account } from "../Config.ts"
import type { ChatProtocolName } from "./Model.ts"
import type { Account, Provider } from "./Provider.ts"

export type Accounts = ReadonlyMap<Provider["id"], Account>

/** The accounts that the environment holds. */
export const configured = Effect.fnUntraced(function* (providers: Iterable<Provider>) {
  const accounts = new Map<Provider["id"], Account>()
  for (const provider of providers) {
    const found = yield* account(provider)
    if (found !== undefined) accounts.set(provider.id, found)
  }
  return accounts satisfies Accounts
})

/** An account with every provider at a simulated server; the key tells it which provider was meant. */
export const simulated = (
  providers: Iterable<Provider>,
  baseUrlFor: (protocol: ChatProtocolName) => string
): Accounts =>
  new Map(
    Array.from(providers, (provider) => [
      provider.id,
      { provider, baseUrl: baseUrlFor(provider.protocol), apiKey: Redacted.make(provider.id) }
    ])
  )
