import { once } from "node:events"
import type { RequestListener } from "node:http"
import { connect } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"

import { nodeServer } from "../../../src/http/edge/NodeServer.ts"

/** The server, listening on a free port and answering with `respond`, and that port. */
const listening = (respond: RequestListener) =>
  Effect.acquireRelease(
    Effect.flatMap(nodeServer, (server) =>
      Effect.promise(async () => {
        server.on("request", respond).listen(0, "127.0.0.1")
        await once(server, "listening")
        const address = server.address()
        return { server, port: typeof address === "object" && address !== null ? address.port : 0 }
      })
    ),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ).pipe(Effect.provide(SecureRandom.layerWebCrypto))

/** What a server answers to these bytes until it closes the connection. */
const answerTo = (port: number, bytes: string) =>
  Effect.promise(async () => {
    const socket = connect({ host: "127.0.0.1", port })
    let text = ""
    socket.on("data", (data) => (text += data.toString()))
    socket.write(bytes)
    await once(socket, "close")
    return text
  })

describe("A connection", () => {
  it.live("whose request was answered before its body came is closed if the body does not come", () =>
    Effect.gen(function* () {
      const { port } = yield* listening((_request, response) => response.writeHead(401).end("refused"))
      const text = yield* answerTo(port, "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nsome")
      assert.match(text, /^HTTP\/1\.1 401 Unauthorized\r\n[^]*refused/)
    })
  )

  it.live("whose request headers do not come is answered with 408 and closed", () =>
    Effect.gen(function* () {
      const { port, server } = yield* listening(() => {})
      server.headersTimeout = 1
      const text = yield* answerTo(port, "POST / HTTP/1.1\r\nhost: x\r\n")
      assert.match(text, /^HTTP\/1\.1 408 Request Timeout\r\nconnection: close\r\n/)
      assert.include(text, '{"error":{"code":"request_timeout","message":"The request did not arrive in time"}}')
    })
  )
})
