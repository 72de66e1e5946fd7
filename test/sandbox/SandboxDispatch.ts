/** `Dispatch` with the sandbox behind every provider, as when no provider is configured. */
import { Effect, Layer, Logger, Redacted } from "effect"
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

/** The protocol of the provider with this name; `undefined` when there is no such provider. */
export type ProtocolOf = (name: string) => Pick<Provider, "protocol" | "dialect" | "auth"> | undefined

const catalogOf = (protocolOf: ProtocolOf) =>
  Layer.effect(
    Catalog,
    Effect.map(Sandbox, (sandbox) =>
      Catalog.of({
        version: "test",
        models: [],
        known: [],
        data: { providers: new Map(), models: new Map() },
        lookup: () => ({ _tag: "Unknown" }),
        account: (provider) => {
          const protocol = protocolOf(provider)
          if (protocol === undefined) return undefined
          const baseUrl = sandbox.baseUrlFor(protocol.protocol)
          return {
            provider: { id: provider, ...protocol, baseUrl, apiKeyEnv: "", baseUrlEnv: "" },
            baseUrl,
            apiKey: Redacted.make(provider)
          }
        }
      })
    )
  )

export const layerOf = (protocolOf: ProtocolOf) =>
  Dispatch.layerWith({
    protocols,
    timeouts: defaultTimeouts,
    limits: { ...Failover.defaultFailoverLimits, triesPerTarget: 1 }
  }).pipe(
    Layer.provide([HttpTransport.layer(), CircuitBreakers.layer, ImageFetch.layer()]),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.provide(catalogOf(protocolOf)),
    Layer.provideMerge(Sandbox.layer),
    Layer.provideMerge(Logger.layer([]))
  )
