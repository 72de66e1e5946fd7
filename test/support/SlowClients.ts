/** Clients on bare sockets: what they send and when, and what comes back, as events. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

import { Effect } from "effect"

import type { Multipart } from "./Multipart.ts"
import { type Reply, TestGateway } from "./TestGateway.ts"
import { transcriptionPath } from "./TranscriptionForms.ts"

/** A connection to the gateway under test. */
export class SocketClient {
  private readonly socket: Socket
  private text = ""
  /** What was received until the connection was closed, by whichever side. */
  readonly closed: Promise<string>

  constructor(socket: Socket) {
    this.socket = socket
    socket.on("data", (data) => (this.text += data.toString("latin1")))
    socket.on("error", () => {})
    this.closed = new Promise((resolve) => socket.on("close", () => resolve(this.text)))
  }

  send(bytes: string | Uint8Array): void {
    if (this.socket.writable) this.socket.write(bytes)
  }

  /** What was received so far, as soon as it matches. Rejects when the connection closes before that. */
  async received(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text)) {
      if (this.socket.closed) throw new Error(`closed after ${JSON.stringify(this.text)}`)
      await Promise.race([once(this.socket, "data"), this.closed])
    }
    return this.text
  }

  /** Sends one byte every second for as long as the connection is open. */
  drip(): void {
    const timer = setInterval(() => this.send("-"), 1_000)
    this.socket.on("close", () => clearInterval(timer))
  }

  hangUp(): void {
    this.socket.destroy()
  }
}

export const openSocket: Effect.Effect<SocketClient, never, TestGateway> = Effect.flatMap(TestGateway, ({ url }) =>
  Effect.promise(async () => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) })
    const client = new SocketClient(socket)
    await once(socket, "connect")
    return client
  })
)

/** The head of a request with these header lines. */
export const headOf = (path: string, key: string, ...headers: ReadonlyArray<string>): string =>
  [`POST ${path} HTTP/1.1`, "host: x", `authorization: Bearer ${key}`, ...headers, "", ""].join("\r\n")

/** The head of an upload with this form, whose client waits to be told to continue. */
export const uploadHead = (key: string, { body, contentType }: Multipart): string =>
  headOf(
    transcriptionPath,
    key,
    `content-type: ${contentType}`,
    `content-length: ${body.length}`,
    "expect: 100-continue"
  )

/** The last answer in what a client received. */
export const answerIn = (received: string): Reply => {
  const answer = received.replace("HTTP/1.1 100 Continue\r\n\r\n", "")
  const [head = "", text = ""] = answer.split("\r\n\r\n")
  const [statusLine = "", ...lines] = head.split("\r\n")
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(": ")[0] ?? "", line.split(": ")[1] ?? ""])
  )
  const at = (path: string): unknown =>
    path
      .split(".")
      .reduce<unknown>(
        (json, key) => (typeof json === "object" && json !== null ? Reflect.get(json, key) : undefined),
        JSON.parse(text)
      )
  return { status: Number(statusLine.split(" ")[1]), headers, text, at }
}

/** The answer to a request whose body never comes. */
export const stalledRequest = (path: string, contentType = "application/json") =>
  Effect.gen(function* () {
    const { key } = yield* TestGateway
    const client = yield* openSocket
    client.send(headOf(path, key, `content-type: ${contentType}`, "content-length: 1000"))
    return answerIn(yield* Effect.promise(() => client.closed))
  })
