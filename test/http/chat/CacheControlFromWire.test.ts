import { assert, describe, it } from "@effect/vitest"

import { cacheTtlOf } from "../../../src/http/chat/CacheControlFromWire.ts"

const ephemeral = (ttl?: string | null) => ({ type: "ephemeral", ...(ttl !== undefined && { ttl }) }) as const

describe("CacheControlFromWire", () => {
  it("rounds a cache lifetime down to one that providers know, in every notation", () => {
    for (const ttl of [undefined, null, "5m", "300s", "1s", "59 minutes", "1 minute", "3599 sec", " 10 MIN "]) {
      assert.strictEqual(cacheTtlOf(ephemeral(ttl)), "5m", String(ttl))
    }
    for (const ttl of ["1h", "1 hour", "60m", "60 minutes", "3600s", "24h", "1 day", "2d", "1H"]) {
      assert.strictEqual(cacheTtlOf(ephemeral(ttl)), "1h", ttl)
    }
  })

  it("recognises text that is not a lifetime", () => {
    for (const ttl of ["", " ", "soon", "0s", "0 hours", "-1h", "h", "1x", "1h30m?", "9999999999h", "NaN", "forever"]) {
      assert.strictEqual(cacheTtlOf(ephemeral(ttl)), "malformed", ttl)
    }
  })

  it("has no lifetime without cache_control", () => {
    assert.isUndefined(cacheTtlOf(undefined))
    assert.isUndefined(cacheTtlOf(null))
  })
})
