import { assert, it } from "@effect/vitest"
import { Context, type Duration, Effect, Exit, Layer, Scope } from "effect"

import { chunksOf, user } from "../support/Chat.ts"
import { driven } from "../support/HttpDriver.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { layerGateway, TestGateway } from "../support/TestGateway.ts"

/** Streams are ended after half of this time, long before the server's own limit. */
const environment = { SHUTDOWN_TIMEOUT: "200 millis" }

/** A gateway for one test, and the effect that stops it. */
const started = Effect.fnUntraced(function* (closesWithin: Duration.Input) {
  const directory = yield* dataDirectory
  const scope = yield* Scope.make()
  const gateway = layerGateway({ DATA_DIR: directory, ...environment }, closesWithin)
  const running = yield* Layer.buildWithScope(gateway, scope)
  return { gateway: Context.get(running, TestGateway), stop: Scope.close(scope, Exit.void) }
})

/** Reads a body in pieces: first until it holds `count` chunks, then to its end. */
const bodyOf = (response: Response) => {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  const readUntil = async (isEnough: () => boolean): Promise<string> => {
    while (!isEnough()) {
      const piece = await reader?.read()
      if (piece?.value === undefined) break
      text += piece.value
    }
    return text
  }
  return {
    chunks: (count: number) => readUntil(() => text.split("data: ").length > count),
    rest: () => readUntil(() => false)
  }
}

const send = (gateway: TestGateway["Service"], body: object) =>
  driven(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}` },
    body: JSON.stringify({ model: "gpt-4o-mini", ...body })
  })

it.live("A gateway that shuts down answers a request that it breaks off with an error body [embedded]", () =>
  Effect.gen(function* () {
    const { gateway, stop } = yield* started("1 second")
    const answered = send(gateway, { messages: [user("Hello [fault:stall 30s]")] })
    // The hold shows that the request has arrived.
    yield* Effect.repeat(Effect.delay(gateway.openHolds, "20 millis"), { until: (holds) => holds > 0 })
    yield* stop
    const response = yield* Effect.promise(() => answered)
    assert.strictEqual(response.status, 500)
    const body = yield* Effect.promise(() => response.text())
    assert.include(body, '"code":"internal_error"')
  })
)

it.live("A gateway that shuts down ends a stream that it breaks off with an error chunk, at no cost [embedded]", () =>
  Effect.gen(function* () {
    const { gateway, stop } = yield* started("1 minute")
    const message = user("Hello [fault:slow 100ms] [fault:length 1000]")
    const response = yield* Effect.promise(() => send(gateway, { stream: true, messages: [message] }))
    const body = bodyOf(response)
    yield* Effect.promise(() => body.chunks(3))
    const reading = body.rest()
    yield* stop
    const text = yield* Effect.promise(() => reading)
    assert.isTrue(text.endsWith("data: [DONE]\n\n"), text.slice(-200))
    const chunks = chunksOf(text)
    assert.isAbove(chunks.length, 2)
    assert.deepInclude(chunks.at(-1)?.["error"], { code: "internal_error" })
    assert.deepInclude(chunks.at(-1)?.["usage"], { cost: 0 })
  })
)
