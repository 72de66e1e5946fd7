/** A receiver of webhooks on a socket of this machine, which checks signatures by itself. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { Effect, Queue, type Scope } from "effect"

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers one message; the first has the number 0. Not answering at all lets it time out. */
type AnswerMessage = (response: ServerResponse, index: number) => void

export interface Receiver {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** The next message that has arrived and was not taken yet. */
  readonly next: Effect.Effect<Received>
}

export const answering =
  (status: number, body = "", headers: Record<string, string> = {}): AnswerMessage =>
  (response) =>
    response.writeHead(status, headers).end(body)

export const makeReceiver = Effect.fnUntraced(function* (
  answer: AnswerMessage = answering(204)
): Effect.fn.Return<Receiver, never, Scope.Scope> {
  const received: Array<Received> = []
  const arrived = yield* Queue.unbounded<Received>()
  const server = createServer((request, response) => {
    const packets: Array<Buffer> = []
    request.on("data", (packet: Buffer) => packets.push(packet))
    request.on("end", () => {
      const message = { headers: request.headers, body: Buffer.concat(packets).toString() }
      received.push(message)
      Queue.offerUnsafe(arrived, message)
      answer(response, received.length - 1)
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/alerts`, received, next: Queue.take(arrived) }
})

/**
 * Whether one of the signatures of a message is by `secret`, as the specification tells receivers to check it. It uses
 * the Web Crypto API, and nothing of what signs.
 */
export const isSigned = async ({ body, headers }: Received, secret: string): Promise<boolean> => {
  const key = await crypto.subtle.importKey(
    "raw",
    Buffer.from(secret.replace(/^whsec_/, ""), "base64"),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"]
  )
  const signed = Buffer.from(`${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`)
  const signatures = String(headers["webhook-signature"]).split(" ")
  const checks = signatures.map((signature) =>
    crypto.subtle.verify("HMAC", key, Buffer.from(signature.replace(/^v1,/, ""), "base64"), signed)
  )
  return (await Promise.all(checks)).includes(true)
}
