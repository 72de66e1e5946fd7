import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"

import { user } from "../support/Chat.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { layerGateway, TestGateway } from "../support/TestGateway.ts"

it.live(
  "answers a request that it has to cut off at its own end with an error body, on the embedded engine [embedded]",
  () =>
    Effect.gen(function* () {
      const directory = yield* dataDirectory
      const scope = yield* Scope.make()
      const running = yield* Layer.buildWithScope(layerGateway({ DATA_DIR: directory }), scope)
      const gateway = Context.get(running, TestGateway)
      const body = { model: "gpt-4o-mini", messages: [user("Hello [fault:stall 30s]")] }
      const asking = yield* Effect.forkChild(gateway.chat(body))
      yield* Effect.sleep("500 millis")
      yield* Scope.close(scope, Exit.void)
      const reply = yield* Fiber.join(asking)
      assert.strictEqual(reply.status, 500)
      assert.strictEqual(reply.at("error.code"), "internal_error")
    }),
  { timeout: 20_000 }
)
