/** Dispatch with every provider at the sandbox, as when nothing is configured. */
import { Duration, Effect, Layer, Logger, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"

import { Catalog } from "../../src/catalog/Catalog.ts"
import type { Provider } from "../../src/catalog/Provider.ts"
import { CircuitBreakers } from "../../src/providers/dispatch/CircuitBreakers.ts"
import { Dispatch } from "../../src/providers/dispatch/Dispatch.ts"
import * as Failover from "../../src/providers/dispatch/FailoverRules.ts"
import { ImageFetch } from "../../src/providers/images/ImageFetch.ts"
import { protocols } from "../../src/providers/protocols/Protocols.ts"
import { HttpTransport } from "../../src/providers/transport/HttpTransport.ts"
import { defaultTimeouts } from "../../src/providers/transport/Timeouts.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

/** How a provider is spoken to; `undefined` when there is none of this name. */
export type Manner = (name: string) => Pick<Provider, "protocol" | "dialect" | "auth"> | undefined

const catalogOf = (mannerOf: Manner) =>
  Layer.effect(
    Catalog,
    Effect.map(Sandbox, (sandbox) =>
      Catalog.of({
        version: "test",
        models: [],
        known: [],
        lookup: () => ({ _tag: "Unknown" }),
        account: (provider) => {
          const manner = mannerOf(provider)
          if (manner === undefined) return undefined
          const baseUrl = sandbox.baseUrlFor(manner.protocol)
          return {
            provider: { id: provider, ...manner, baseUrl, apiKeyEnv: "", baseUrlEnv: "" },
            baseUrl,
            apiKey: Redacted.make(provider)
          }
        }
      })
    )
  )

/** Impatient, so that what hangs is given up soon. */
export const layerOf = (mannerOf: Manner) =>
  Dispatch.layerWith({
    protocols,
    timeouts: { ...defaultTimeouts, silence: Duration.millis(300) },
    limits: { ...Failover.defaultFailoverLimits, triesPerTarget: 1 }
  }).pipe(
    Layer.provide([HttpTransport.layer(), CircuitBreakers.layer, ImageFetch.layer()]),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.provide(catalogOf(mannerOf)),
    Layer.provideMerge(Sandbox.layer),
    Layer.provideMerge(Logger.layer([]))
  )
