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

describe("CORS_ORIGINS", () => {
  const read = (env: { readonly [name: string]: string }) =>
    Config.settings.pipe(
      Effect.map(({ corsOrigins }) => corsOrigins),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
    )

  it.effect("lists origins, or allows all of them, and none by default", () =>
    Effect.gen(function* () {
      const origins = "http://localhost:3000,https://app.example.com, chrome-extension://abcdef"
      assert.deepStrictEqual(
        yield* read({ CORS_ORIGINS: origins }),
        new Set(["http://localhost:3000", "https://app.example.com", "chrome-extension://abcdef"])
      )
      assert.strictEqual(yield* read({ CORS_ORIGINS: "*" }), "*")
      assert.isUndefined(yield* read({}))
    })
  )
})

describe("A malformed variable", () => {
  const faultOf = (env: { readonly [name: string]: string }) =>
    Config.settings.pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
      Effect.flip,
      Effect.map(({ message }) => message)
    )

  const cases: ReadonlyArray<readonly [name: string, value: string, message: RegExp]> = [
    ["PORT", "abc", /number\. Set it so, or unset it for the default: 8080$/],
    ["WORKERS", "many", /auto.*from 1 to 256.*: 1$/],
    ["WORKERS", "0", /auto.*from 1 to 256/],
    ["PORT", "99999", /between 1 and 65535\. /],
    ["CORS_ORIGINS", "https://app.example.com/", /without a path/],
    ["CORS_ORIGINS", "https://App.example.com", /origins such as/],
    ["CORS_ORIGINS", "https://app.example.com, *", /\* or origins/],
    ["CORS_ORIGINS", "https://app.example.com:443", /origins such as/],
    ["CORS_ORIGINS", "gateway.test", /origins such as/],
    ["BOOTSTRAP_API_KEY", "x", /a key of 8 to 512 visible ASCII characters.*openssl/],
    ["BOOTSTRAP_API_KEY", "a key with spaces in it", /visible ASCII/],
    ["SHUTDOWN_TIMEOUT", "soon", /Duration/],
    ["BOOTSTRAP_CREDIT_USD", "ten", /USD/],
    ["LOG_LEVEL", "loud", /"Info"/]
  ]
  for (const [name, value, message] of cases)
    it.effect(`${name}=${value} is named in one line with a remedy, and not quoted`, () =>
      Effect.gen(function* () {
        const fault = yield* faultOf({ [name]: value })
        assert.match(fault, new RegExp(`^${name}: Expected [^\n]+$`))
        assert.match(fault, message)
        if (value.length > 1) assert.notInclude(fault, value)
      })
    )
})
