import { assert, describe, it } from "@effect/vitest"

import type { EndpointHealth } from "../../../src/providers/dispatch/EndpointHealth.ts"
import { accountRefusedSince } from "../../../src/providers/dispatch/ProviderHealth.ts"

const healthy: EndpointHealth = { breaker: "closed", retryAfterMillis: 0, isRateLimited: false }

const refusing = (sinceMillis: number, atMillis: number): EndpointHealth => ({
  ...healthy,
  refusedSinceMillis: sinceMillis,
  lastFailure: { class: "Credentials", status: 401, atMillis }
})

describe("A provider", () => {
  it("refuses our account since the first refusal that no answer followed", () => {
    assert.isUndefined(accountRefusedSince([]))
    assert.isUndefined(accountRefusedSince([healthy]))
    assert.strictEqual(accountRefusedSince([refusing(5, 9), refusing(3, 4), healthy]), 3)
    assert.strictEqual(accountRefusedSince([refusing(5, 9), { ...healthy, lastAnswerMillis: 2 }]), 5)
  })

  it("accepts it again once any of its endpoints answers", () => {
    assert.isUndefined(accountRefusedSince([refusing(5, 9), { ...healthy, lastAnswerMillis: 10 }]))
    // The first endpoint has not been asked again since.
    assert.strictEqual(
      accountRefusedSince([refusing(5, 9), refusing(12, 12), { ...healthy, lastAnswerMillis: 10 }]),
      12
    )
  })
})
