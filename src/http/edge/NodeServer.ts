/**
 * Node's HTTP server. It answers with an error body of the contract even what never becomes a request: bytes that are
 * not HTTP, headers beyond Node's limit, and a request that does not arrive in time.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { type Duration, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"

import { type ErrorCode, errorTable } from "../../api/ErrorTable.ts"

export interface ListenOptions {
  readonly host: string
  readonly port: number
  /** How long requests in flight may take to finish when the server closes. */
  readonly shutdownTimeout: Duration.Input
}

/**
 * How long a connection without a request is kept. Load balancers and proxies keep theirs for sixty seconds by default:
 * who closes first must be the one who sends the requests, because a request that meets the closing of its connection
 * is lost, and its sender sees a reset.
 */
const keepAliveMillis = 75_000
/**
 * Connections that wait to be accepted while the process is busy; the kernel lowers it to what it allows. Those beyond
 * are dropped, and their clients try again only after a second.
 */
export const connectionBacklog = 4_096

/** Listens on a socket for as long as the layer lives. */
export const nodeServerLayer = ({ host, port, shutdownTimeout }: ListenOptions) =>
  Layer.unwrap(
    Effect.map(nodeServer, (server) =>
      NodeHttpServer.layer(() => server, {
        host,
        port,
        backlog: connectionBacklog,
        gracefulShutdownTimeout: shutdownTimeout
      })
    )
  )

/**
 * Node's own limits, in milliseconds. Those of `RequestBodies` come first for every body that is read, so the limit on
 * the whole request only has to leave room for 32 MiB at the slowest rate that is accepted there, which is 35 minutes.
 */
const timeouts = { headersTimeout: 20_000, requestTimeout: 3_600_000, connectionsCheckingInterval: 5_000 }

/** How long the rest of a body may take that nobody reads, because its request has been answered already. */
const unreadBodyMillis = 5_000

/** Makes a server that does not listen yet. */
export const nodeServer: Effect.Effect<Server, never, SecureRandom.SecureRandom> = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  const runSync = Effect.runSyncWith(yield* Effect.context<never>())
  return createServer({ ...timeouts, keepAliveTimeout: keepAliveMillis })
    .on("request", limitUnreadBody)
    .on("checkContinue", limitUnreadBody)
    .on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      if (mayAnswer(error, socket)) socket.write(faultAnswer(error, runSync(random.uuidV7())))
      socket.destroy(error)
    })
})

/** An answer can come before the end of the body, such as a refusal; the connection must not stay for a slow rest. */
const limitUnreadBody = (request: IncomingMessage, response: ServerResponse): void => {
  response.once("finish", () => {
    if (request.complete || request.destroyed) return
    const timer = setTimeout(() => request.socket.destroy(), unreadBodyMillis)
    request.once("close", () => clearTimeout(timer))
  })
}

/** False while a response is being sent, because further bytes would end up inside it. */
const mayAnswer = (error: NodeJS.ErrnoException, socket: Duplex): boolean =>
  socket.writable && !Reflect.get(socket, "_httpMessage") && error.code !== "ECONNRESET"

const messages: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: "The request headers are too large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "The chunk extensions of the request body are too large",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time"
}

const faultAnswer = (error: NodeJS.ErrnoException, requestId: string): string => {
  const code: ErrorCode = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? "request_timeout" : "invalid_request"
  const message = messages[error.code ?? ""] ?? "The request is not valid HTTP"
  const body = JSON.stringify({ error: { code, message } })
  const status = errorTable[code]
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
    `content-length: ${body.length}\r\nx-request-id: ${requestId}\r\n\r\n${body}`
  )
}
