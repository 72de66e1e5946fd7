/** What the holder of an API key can learn with it. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { modelId } from "../../src/domain/Ids.ts"
import { as } from "../support/Chat.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"

describeGateway("An account", (it) => {
  it.effect("tells what its key may do and what can be spent, and nothing of another organization", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const expiresAtMillis = 4_102_444_800_000
      const tenant = yield* gateway.tenant("2.5", { models: [modelId("gpt-4o-mini")], expiresAtMillis })
      const key = yield* gateway.request("GET", "/v1/key", undefined, as(tenant))
      assert.deepInclude(JSON.parse(key.text), {
        object: "key",
        id: tenant.keyId,
        organization_id: tenant.organization,
        endpoints: null,
        models: ["gpt-4o-mini"],
        requests_per_minute: 600,
        expires_at: expiresAtMillis / 1_000
      })
      assert.notInclude(key.text, tenant.key)
      const credits = yield* gateway.request("GET", "/v1/credits", undefined, as(tenant))
      assert.deepStrictEqual(JSON.parse(credits.text), {
        object: "credits",
        available_usd: "2.5",
        held_usd: "0",
        hard_cap: false
      })
      for (const path of ["/v1/key", "/v1/credits"]) {
        const stranger = yield* gateway.request("GET", path, undefined, { authorization: "Bearer nobody" })
        assert.strictEqual(stranger.status, 401)
      }
    })
  )
})
