import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option } from "effect"

import * as Config from "../src/Config.ts"

describe("SERVICE_NAME", () => {
  const read = (name: string) =>
    Config.settings.pipe(
      Effect.map(({ serviceName }) => serviceName),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { SERVICE_NAME: name } })),
      Effect.option
    )

  it.effect("is a name that hides neither a member of an answer nor a field of an upload", () =>
    Effect.gen(function* () {
      for (const name of ["svc", "acme", "acme_2"]) assert.deepStrictEqual(yield* read(name), Option.some(name))
      for (const name of ["usage", "choices", "file", "prompt", "metadata", "call_name", "Acme", "2", "a-b"]) {
        assert.deepStrictEqual(yield* read(name), Option.none(), name)
      }
    })
  )
})
