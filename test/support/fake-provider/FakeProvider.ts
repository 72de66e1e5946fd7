/**
 * The fake provider: an HTTP server on a loopback port that records the requests it receives and plays the behaviours
 * of a script, down to the bytes. Every suite and benchmark that needs a provider under its control uses this one.
 *
 * One server can stand for several endpoints, each with a script of its own below a path of its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { Context, Effect, Layer } from "effect"

import type { Environment } from "../GatewayEnvironment.ts"
import { answers } from "./Answers.ts"
import type { Behaviour, Received } from "./Behaviours.ts"

export * from "./Answers.ts"
export * from "./Behaviours.ts"
export * from "./Vectors.ts"

/** What answers at one base URL: a script, and the record of the requests that it was played to. */
export class FakeEndpoint {
  readonly url: string
  private behaviours: ReadonlyArray<Behaviour> = []
  private calls: Array<Received> = []
  private waiting: Array<{ readonly count: number; readonly resolve: (received: Received) => void }> = []

  constructor(url: string) {
    this.url = url
  }

  /**
   * Starts over: the behaviours are played in turn, one for each request, and the last one for all that follow. Without
   * any, every request is answered with `ok`.
   */
  script(...behaviours: ReadonlyArray<Behaviour>): void {
    this.behaviours = behaviours
    this.calls = []
  }

  /** The requests since the last call of `script`, in the order of their arrival. */
  get received(): ReadonlyArray<Received> {
    return [...this.calls]
  }

  /** The request that arrives as the `count`th since the last call of `script`, once it is here. */
  arrival(count = 1): Promise<Received> {
    const call = this.calls[count - 1]
    return call === undefined ? new Promise((resolve) => this.waiting.push({ count, resolve })) : Promise.resolve(call)
  }

  /** What the next request will meet. */
  next(): Behaviour {
    return this.behaviours[Math.min(this.calls.length, this.behaviours.length - 1)] ?? answers("ok")
  }

  record(received: Received): void {
    this.calls.push(received)
    const due = this.waiting.filter(({ count }) => count === this.calls.length)
    this.waiting = this.waiting.filter((waiter) => !due.includes(waiter))
    for (const { resolve } of due) resolve(received)
  }
}

export interface FakeServerOptions {
  /** Default: any free port. */
  readonly port?: number
  /** False: requests are answered and forgotten, for a benchmark that sends millions of them. */
  readonly records?: boolean
}

/** The server behind `FakeProvider`, for code that runs without Effect, such as a process of its own. */
export class FakeServer extends FakeEndpoint {
  private readonly server: Server
  private readonly records: boolean
  private readonly endpoints = new Map<string, FakeEndpoint>()
  private connectionCount = 0

  private constructor(server: Server, { records = true }: FakeServerOptions) {
    super(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    this.server = server
    this.records = records
    server.on("connection", () => this.connectionCount++)
    server.on("request", (incoming, response) => this.serve(incoming, response))
  }

  /** Listens on 127.0.0.1. */
  static start(options: FakeServerOptions = {}): Promise<FakeServer> {
    // Idle connections stay open: one that is closed as a request comes is a network fault that no script asked for.
    const server = createServer({ keepAliveTimeout: 600_000 })
    return new Promise((resolve) => {
      server.listen(options.port ?? 0, "127.0.0.1", () => resolve(new FakeServer(server, options)))
    })
  }

  /** The endpoint below `/name`, which from now on has a script and a record of its own. */
  endpoint(name: string): FakeEndpoint {
    const endpoint = this.endpoints.get(name) ?? new FakeEndpoint(`${this.url}/${name}`)
    this.endpoints.set(name, endpoint)
    return endpoint
  }

  /** Connections that were opened so far. */
  get connections(): number {
    return this.connectionCount
  }

  /** Drops every connection at once, and takes no more. */
  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  private serve(incoming: IncomingMessage, response: ServerResponse): void {
    const [, name = "", rest = ""] = /^\/([^/?]*)(.*)$/.exec(incoming.url ?? "") ?? []
    const own = this.endpoints.get(name)
    const endpoint = own ?? this
    const chunks: Array<Buffer> = []
    const received: Received = {
      path: own === undefined ? (incoming.url ?? "") : rest,
      headers: incoming.headers,
      get bytes() {
        return Buffer.concat(chunks)
      },
      get text() {
        return this.bytes.toString()
      },
      get body() {
        return JSON.parse(this.text)
      },
      aborted: new Promise((resolve) => response.on("close", () => !response.writableFinished && resolve()))
    }
    const play = (): void => {
      const behaviour = endpoint.next()
      if (this.records) endpoint.record(received)
      void behaviour(response, received)
    }
    if (endpoint.next().ignoresBody) return play()
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", play)
  }
}

export class FakeProvider extends Context.Service<FakeProvider, FakeServer>()("test/FakeProvider") {
  static readonly layer: Layer.Layer<FakeProvider> = Layer.effect(
    FakeProvider,
    Effect.acquireRelease(
      Effect.promise(() => FakeServer.start()),
      (server) => Effect.sync(() => server.close())
    )
  )
}

/** Variables that put the provider behind OpenAI's and Anthropic's models. */
export const environmentOf = ({ url }: FakeServer): Environment => ({
  OPENAI_API_KEY: "sk-openai-of-the-operator",
  OPENAI_BASE_URL: `${url}/v1`,
  ANTHROPIC_API_KEY: "sk-anthropic-of-the-operator",
  ANTHROPIC_BASE_URL: url
})
