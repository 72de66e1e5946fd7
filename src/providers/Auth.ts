/** How our key reaches a provider. The one place that opens a provider's secret. */
import { Redacted } from "effect"

import type { Account, Provider } from "../catalog/Provider.ts"

type Headers = { readonly [name: string]: string }

const schemes = {
  bearer: (key) => ({ authorization: `Bearer ${key}` }),
  "x-api-key": (key) => ({ "x-api-key": key }),
  "api-key": (key) => ({ "api-key": key }),
  none: () => ({})
} as const satisfies Record<Provider["auth"], (key: string) => Headers>

/** The headers that identify us to this provider. */
export const headersOf = (account: Account): Headers => schemes[account.provider.auth](Redacted.value(account.apiKey))
