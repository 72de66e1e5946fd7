/**
 * The gateway on the embedded engine alone: what a client reads does not depend on the database. One client is run on
 * both engines all the same, to prove that.
 */
import { layer, type Vitest } from "@effect/vitest"
import { Effect, Layer } from "effect"

import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { describeGateway, describeWithFakeProvider, layerGateway, type Services } from "../support/TestGateway.ts"

type Describe<R> = (name: string, suite: (it: Vitest.MethodsNonLive<R>) => void) => void

/** The gateways of a suite: one with the sandbox behind it, and one with the fake provider. */
export interface Gateways {
  readonly sandbox: Describe<Services>
  readonly fakeProvider: Describe<Services | Fake.FakeProvider>
}

const options = { excludeTestServices: true, timeout: "3 minutes" } as const

const embeddedSandbox = Layer.unwrap(Effect.map(dataDirectory, (directory) => layerGateway({ DATA_DIR: directory })))

const embeddedFakeProvider = Layer.unwrap(
  Effect.gen(function* () {
    const provider = Fake.environmentOf(yield* Fake.FakeProvider)
    return layerGateway({ DATA_DIR: yield* dataDirectory, ...provider })
  })
).pipe(Layer.provideMerge(Fake.FakeProvider.layer))

export const onEmbedded: Gateways = {
  sandbox: (name, suite) => layer(embeddedSandbox, options)(`${name} [embedded]`, suite),
  fakeProvider: (name, suite) => layer(embeddedFakeProvider, options)(`${name} [embedded]`, suite)
}

export const onBothEngines: Gateways = {
  sandbox: (name, suite) => describeGateway(name, suite),
  fakeProvider: (name, suite) => describeWithFakeProvider(name, suite)
}
