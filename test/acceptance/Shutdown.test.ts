import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"

import { chunksOf, user } from "../support/Chat.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { layerGateway, TestGateway } from "../support/TestGateway.ts"

/** What a client gets that is still waiting when the gateway has to go. */
const cutOff = Effect.fnUntraced(function* (body: object) {
  const directory = yield* dataDirectory
  const scope = yield* Scope.make()
  const environment = { DATA_DIR: directory, SHUTDOWN_TIMEOUT: "1 second" }
  const running = yield* Layer.buildWithScope(layerGateway(environment), scope)
  const gateway = Context.get(running, TestGateway)
  const asking = yield* Effect.forkChild(gateway.chat({ model: "gpt-4o-mini", ...body }))
  yield* Effect.sleep("1 second")
  yield* Scope.close(scope, Exit.void)
  return yield* Fiber.join(asking)
})

it.live(
  "answers a request that it has to cut off with an error body [embedded]",
  () =>
    Effect.gen(function* () {
      const reply = yield* cutOff({ messages: [user("Hello [fault:stall 30s]")] })
      assert.strictEqual(reply.status, 500)
      assert.strictEqual(reply.at("error.code"), "internal_error")
    }),
  { timeout: 20_000 }
)

it.live(
  "ends a stream that it has to cut off with an error chunk that costs nothing [embedded]",
  () =>
    Effect.gen(function* () {
      const reply = yield* cutOff({ stream: true, messages: [user("Hello [fault:slow 200ms] [fault:length 200]")] })
      assert.isTrue(reply.text.endsWith("data: [DONE]\n\n"))
      const chunks = chunksOf(reply.text)
      assert.isAbove(chunks.length, 2)
      assert.deepInclude(chunks.at(-1)?.["error"], { code: "internal_error" })
      assert.deepInclude(chunks.at(-1)?.["usage"], { cost: 0 })
    }),
  { timeout: 20_000 }
)
