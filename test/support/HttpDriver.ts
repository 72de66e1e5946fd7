/**
 * Requests to a gateway from suites and benchmarks. On a busy machine connections are refused, or closed before
 * anything is sent: that proves nothing about the gateway, so what never reached it is sent again, a few times, with a
 * line that reports it.
 *
 * What may have reached the gateway is sent again only if that changes nothing: it has an `Idempotency-Key`, is a
 * `GET`, or its caller says that its accounts bear it. Every other request has a connection of its own, because one
 * that is kept can be closed by the gateway at the moment at which the next request is written to it.
 */
import { Agent, type IncomingMessage, request } from "node:http"
import type { Socket } from "node:net"
import { Readable } from "node:stream"
import { setTimeout as pause } from "node:timers/promises"

export interface DrivenRequest {
  /** Default: `GET`. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  /** Whether it may be sent again although it may have arrived, as long as no byte of an answer came. */
  readonly isRepeatable?: boolean
  /** How often it is sent again. Default: five times. */
  readonly retries?: number
  /** Called before each time that the request is sent again. Default: a line on stderr. */
  readonly onRetry?: (reason: Error) => void
  /** Default: kept connections for what is repeatable, and a connection of its own for everything else. */
  readonly agent?: Agent
}

/** A request that provably never reached the gateway: nothing was written to any connection. */
export class NeverSent extends Error {
  override readonly name = "NeverSent"
}

const defaultRetries = 5
const firstPauseMillis = 20

const keptConnections = new Agent({ keepAlive: true })

const reportRetry =
  (method: string, url: string) =>
  (reason: Error): void =>
    console.warn(`${method} ${url} is sent again: ${reason.message}`)

/** Sends a request, and resolves when the headers of its answer are here. */
export const drive = async (url: string, options: DrivenRequest = {}): Promise<IncomingMessage> => {
  const { headers = {}, method = "GET", retries = defaultRetries } = options
  const { isRepeatable = method === "GET" || "idempotency-key" in headers } = options
  const { onRetry = reportRetry(method, url) } = options
  for (let tries = 0; ; tries++) {
    try {
      return await sendOnce(url, { ...options, isRepeatable })
    } catch (error) {
      const again = error instanceof NeverSent || (isRepeatable && error instanceof NoAnswer)
      if (!again || tries >= retries || options.signal?.aborted) throw error
      onRetry(error)
      await pause(firstPauseMillis * 2 ** tries)
    }
  }
}

/** The same as `fetch` would give it. */
export const driven = async (url: string, options?: DrivenRequest): Promise<Response> => {
  const incoming = await drive(url, options)
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(incoming.headersDistinct))
    for (const value of values) headers.append(name, value)
  // The two declarations of the same class differ in one optional member.
  const body = Readable.toWeb(incoming) as ReadableStream<Uint8Array<ArrayBuffer>>
  const hasNoBody = incoming.statusCode === 204 || incoming.statusCode === 304
  return new Response(hasNoBody ? null : body, { status: incoming.statusCode ?? 0, headers })
}

/** A connection that ended without a byte of an answer, after something was written to it. */
class NoAnswer extends Error {
  override readonly name = "NoAnswer"
}

const sendOnce = (url: string, options: DrivenRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { body, headers, isRepeatable, method, signal } = options
    const agent = options.agent ?? (isRepeatable ? keptConnections : false)
    const call = request(url, { method, headers, agent, signal })
    let connected = false
    let [socket, readBefore]: [Socket | undefined, number] = [undefined, 0]
    call.once("socket", (given) => {
      socket = given
      readBefore = given.bytesRead
      connected = !given.connecting
      if (!connected)
        given.once("connect", () => {
          connected = true
        })
    })
    call.once("response", resolve)
    // A request that was aborted, and a connection that ends while the answer is read, are of no interest here.
    call.on("error", (cause) => {
      if (signal?.aborted) reject(cause)
      else if (!connected) reject(new NeverSent(cause.message, { cause }))
      else if (socket?.bytesRead === readBefore) reject(new NoAnswer(cause.message, { cause }))
      else reject(cause)
    })
    // Bytes, because Node would write the headers in the encoding of a body that is text.
    call.end(typeof body === "string" ? Buffer.from(body) : body)
  })
