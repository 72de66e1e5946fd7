/** What a fake provider can do with a request: the types, and the behaviours that belong to no wire protocol. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http"

export type Json = { readonly [key: string]: unknown }

/** A request as it reached the provider. */
export interface Received {
  /** With the query, and without the name of the endpoint when the provider has several. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** The text as JSON; throws when it is none. */
  readonly body: Json
  /** Resolves when the client closes the connection before the answer is complete. */
  readonly aborted: Promise<void>
}

/** Answers one request. A behaviour that does not end the response leaves the client waiting. */
export interface Behaviour {
  (response: ServerResponse, received: Received): unknown
  /** Set when the behaviour starts before the request's body has arrived. */
  readonly ignoresBody?: boolean
}

/** The behaviour, started as soon as the headers have arrived: `received` has no body then. */
export const beforeBody = (behaviour: Behaviour): Behaviour =>
  Object.assign((...args: Parameters<Behaviour>) => behaviour(...args), { ignoresBody: true })

/** Answers with a status and a body: text and bytes as they are, anything else as JSON. */
export const reply =
  (status: number, body: unknown, headers: { readonly [name: string]: string | number } = {}): Behaviour =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body))

/** Answers with an error in OpenAI's format. */
export const error = (
  status: number,
  fields: { readonly message?: string; readonly type?: string; readonly code?: string; readonly param?: string } = {},
  headers: { readonly [name: string]: string } = {}
): Behaviour => reply(status, { error: { message: "scripted", type: "scripted", ...fields } }, headers)

export interface StreamOptions {
  /** The pause before each chunk but the first, in milliseconds. Default: 0, which still separates the chunks. */
  readonly everyMillis?: number
  /** What follows the last chunk. Default: `end`. `open`: nothing. `cut`: the connection is dropped. */
  readonly ending?: "end" | "open" | "cut"
  readonly mediaType?: string
}

/** Streams chunks as they are given. */
export const streams =
  (
    chunks: ReadonlyArray<string | Uint8Array>,
    { ending = "end", everyMillis = 0, mediaType = "text/event-stream" }: StreamOptions = {}
  ): Behaviour =>
  async (response) => {
    response.writeHead(200, { "content-type": mediaType }).flushHeaders()
    for (const [index, chunk] of chunks.entries()) {
      if (index > 0) await pause(everyMillis)
      if (response.destroyed) return
      response.write(chunk)
    }
    if (ending === "cut") response.destroy()
    else if (ending === "end") response.end()
  }

/** Never answers. */
export const hangs: Behaviour = () => undefined

/** Drops the connection without an answer. */
export const resets: Behaviour = (response) => void response.destroy()

/** One event of a stream of server-sent events. */
export const dataEvent = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

/** One event with a name, as in Anthropic's protocol and in OpenAI's Responses. */
export const namedEvent = (type: string, members: Json = {}): string =>
  `event: ${type}\n${dataEvent({ type, ...members })}`

export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
