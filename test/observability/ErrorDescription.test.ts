import { assert, describe, it } from "@effect/vitest"
import { Cause } from "effect"

import { describeCause, describeFault } from "../../src/observability/ErrorDescription.ts"

const prompt = `Dear "Ms" Quill, the password is swordfish`
const causeOf = (run: () => unknown): Cause.Cause<never> => {
  try {
    run()
  } catch (error) {
    return Cause.die(error)
  }
  return assert.fail("nothing was thrown")
}

describe("The cause of a failed request", () => {
  it("says what went wrong and where", () => {
    const text = describeCause(causeOf(() => Reflect.apply(JSON.stringify(1n as never) as never, null, [])))
    assert.match(text, /TypeError: Do not know how to serialize a BigInt/)
    assert.include(text, "ErrorDescription.test.ts")
  })

  it("has no text that an error quotes, and no key", () => {
    for (const text of [prompt, `{"a": ${prompt}}`, `"${prompt}`, `[1] ${prompt}`]) {
      const shown = describeCause(causeOf(() => JSON.parse(text)))
      for (const word of ["Dear", "Quill", "swordfish"]) assert.notInclude(shown, word)
      assert.include(shown, "JSON")
    }
    const shown = describeCause(
      Cause.die(new Error(`expected "${prompt.replaceAll('"', "")}" with sk-live-0123456789`))
    )
    assert.match(shown, /expected "…" with \[redacted\]/)
    assert.strictEqual(describeFault(new Error("no", { cause: new Error("Bearer abcdefghijk") })), "no: [redacted]")
  })
})
