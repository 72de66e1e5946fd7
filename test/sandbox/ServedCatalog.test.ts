import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option } from "effect"

import { servedCatalogLayer } from "../../src/sandbox/ServedCatalog.ts"

/** Why a start with this `CATALOG_FILE` fails. A provider is switched on, so that no sandbox is started. */
const faultOf = (path: string) =>
  Layer.build(servedCatalogLayer({ catalogFile: Option.some(path) })).pipe(
    Effect.scoped,
    Effect.flip,
    Effect.map(({ message }) => message),
    Effect.provide(NodeServices.layer),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { OPENAI_API_KEY: "key" } }))
  )

describe("CATALOG_FILE", () => {
  for (const [path, fault] of [
    ["/no/such/catalog.json", "does not exist"],
    ["/", "cannot be read"]
  ] as const)
    it.effect(`of ${path} is one line that names the variable and the remedy`, () =>
      Effect.gen(function* () {
        assert.strictEqual(
          yield* faultOf(path),
          `CATALOG_FILE: ${path} ${fault}. Set it to the path of a JSON file, or unset it`
        )
      })
    )
})
