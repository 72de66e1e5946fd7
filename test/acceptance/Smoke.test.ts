import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { describeGateway, TestGateway } from "../support/TestGateway.ts"

describeGateway("Smoke", (it) => {
  it.effect("streams", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const reply = yield* gateway.chat({
        model: "gpt-4o-mini",
        stream: true,
        messages: [{ role: "user", content: "hi" }]
      })
      assert.strictEqual(reply.status, 200)
      assert.include(reply.text, "[DONE]")
    })
  )
})
