import { readFileSync } from "node:fs"

import { assert, it } from "@effect/vitest"

import { tollgateVersion } from "../../src/observability/Version.ts"

it("The version is that of the package", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string }
  assert.strictEqual(tollgateVersion, version)
})
