/**
 * Node's server, made to answer in the contract's words also what never becomes a request: bytes that are not HTTP,
 * headers beyond Node's limit, a request that does not arrive in time.
 */
import { randomUUID } from "node:crypto"
import { createServer, type Server } from "node:http"
import type { Duplex } from "node:stream"

import { type ErrorCode, errorTable } from "../../api/Errors.ts"

/** A server that does not listen yet. */
export const createNodeServer = (): Server => createServer().on("clientError", answer)

const messageOf: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: "The request headers are too large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "The chunk extensions of the request body are too large",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time"
}

const answer = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  // While a response is on its way, more bytes would end up inside it.
  const answering = Boolean(Reflect.get(socket, "_httpMessage"))
  if (socket.writable && !answering && error.code !== "ECONNRESET") {
    const code: ErrorCode = "invalid_request"
    const message = messageOf[error.code ?? ""] ?? "The request is not valid HTTP"
    const body = JSON.stringify({ error: { code, message } })
    socket.write(
      `HTTP/1.1 ${errorTable[code]} Bad Request\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\nx-request-id: ${randomUUID()}\r\n\r\n${body}`
    )
  }
  socket.destroy(error)
}
