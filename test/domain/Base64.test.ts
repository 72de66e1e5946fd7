import { assert, describe, it } from "@effect/vitest"

import { isBase64 } from "../../src/domain/Base64.ts"

describe("isBase64", () => {
  it("accepts what a decoder can read back, with padding and without", () => {
    for (let length = 1; length < 40; length++) {
      const text = Buffer.alloc(length, 0xfb).toString("base64")
      assert.isTrue(isBase64(text), text)
      assert.isTrue(isBase64(text.replace(/=+$/, "")), text)
    }
  })

  it("refuses everything else", () => {
    for (const text of [
      "",
      "=",
      "==",
      "A",
      "A=",
      "A==",
      "A===",
      "AA=",
      "AAA==",
      "AAAA=",
      "AAAAA",
      "AA==AA==",
      "AA AA="
    ])
      assert.isFalse(isBase64(text), text)
    for (const text of ["!!!", "AA-_", "AAA\n", " AAA", "AAAé", "====", "AA=A"]) assert.isFalse(isBase64(text), text)
  })

  it("reads thirty megabytes", () => {
    const text = "QUJD".repeat(8_000_000)
    assert.isTrue(isBase64(text))
    assert.isFalse(isBase64(`${text}!QUI`))
  })
})
