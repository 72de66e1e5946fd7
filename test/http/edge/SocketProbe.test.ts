import { createServer } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { requireFreeSocket } from "../../../src/network/FreeSocket.ts"

const host = "127.0.0.1"

/** The port of a socket that is listened on while the scope is open. */
const takenPort = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer().listen(0, host, () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ port, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("requireFreeSocket", () => {
  it.live("names the variable and the remedy when the port is in use", () =>
    Effect.gen(function* () {
      const { port } = yield* takenPort
      const { message } = yield* Effect.flip(requireFreeSocket({ host, port }))
      assert.match(message, /^PORT: \d+ on 127\.0\.0\.1 is in use\. Stop .* or set PORT to a free port$/)
    })
  )

  it.live("names HOST when the address is not of this machine", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(requireFreeSocket({ host: "192.0.2.1", port: 0 }))
      assert.match(message, /^HOST: 192\.0\.2\.1 .*Set HOST/)
    })
  )

  it.live("leaves a free socket free", () =>
    Effect.gen(function* () {
      const { close, port } = yield* takenPort
      close()
      yield* requireFreeSocket({ host, port })
      yield* requireFreeSocket({ host, port })
    })
  )
})
