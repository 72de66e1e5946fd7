import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer, HttpServerResponse } from "effect/http"

import { nodeServerLayer } from "../../../src/http/edge/NodeServer.ts"

const listening = nodeServerLayer({ host: "127.0.0.1", port: 0, shutdownTimeout: "1 second" }).pipe(
  Layer.provide(NodeCrypto.layerSecureRandom)
)

describe("The server", () => {
  it.live("keeps idle connections for longer than the load balancers and proxies that it stands behind", () =>
    Effect.gen(function* () {
      yield* HttpServer.serveEffect(Effect.succeed(HttpServerResponse.text("ok")))
      const { address } = yield* HttpServer.HttpServer
      const response = yield* Effect.promise(() => fetch(HttpServer.formatAddress(address)))
      assert.strictEqual(yield* Effect.promise(() => response.text()), "ok")
      const [, seconds] = /^timeout=(\d+)$/.exec(response.headers.get("keep-alive") ?? "") ?? []
      assert.isAbove(Number(seconds), 60)
    }).pipe(Effect.scoped, Effect.provide(listening))
  )
})
