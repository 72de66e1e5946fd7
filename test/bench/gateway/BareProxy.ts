/**
 * The floor of the bench: a proxy on `node:http` that does as little as any proxy can. It parses and encodes what it
 * passes on, JSON and events; what is neither, such as a form, it collects and passes on as it is.
 */
import { Agent, createServer, request } from "node:http"
import { buffer, text as readAll } from "node:stream/consumers"

import { dataEvent, openaiDone } from "../../support/fake-provider/FakeProvider.ts"

const json = { "content-type": "application/json" }

/** The events of a stream that are complete, encoded anew, and the text after them. */
const encoded = (text: string): readonly [events: string, rest: string] => {
  const events = text.split("\n\n")
  const rest = events.pop() ?? ""
  const again = events.map((event) =>
    event === "data: [DONE]" ? openaiDone : dataEvent(JSON.parse(event.slice("data: ".length)))
  )
  return [again.join(""), rest]
}

/** Listens on `port`, and passes every request on to the port `to`. */
export const serveBareProxy = (port: number, to: number): void => {
  const agent = new Agent({ keepAlive: true, maxSockets: 10_000 })
  createServer({ keepAliveTimeout: 600_000 }, async (incoming, response) => {
    const type = incoming.headers["content-type"] ?? ""
    const bytes = await buffer(incoming)
    const call = type.startsWith("application/json")
      ? (JSON.parse(bytes.toString()) as { readonly stream?: boolean })
      : undefined
    const body = call === undefined ? bytes : JSON.stringify(call)
    const headers = { "content-type": type, "content-length": Buffer.byteLength(body) }
    const options = { host: "127.0.0.1", port: to, path: incoming.url, method: "POST", agent, headers }
    request(options, async (answer) => {
      if (call?.stream !== true)
        return void response.writeHead(200, json).end(JSON.stringify(JSON.parse(await readAll(answer))))
      response.writeHead(200, { "content-type": "text/event-stream" })
      // The client may leave, or the provider; either ends the other side.
      response.on("close", () => answer.destroy())
      let rest = ""
      try {
        for await (const part of answer) {
          const [events, left] = encoded(rest + part.toString())
          rest = left
          response.write(events)
        }
        response.end()
      } catch {
        response.destroy()
      }
    })
      .on("error", () => response.destroy())
      .end(body)
  }).listen(port, "127.0.0.1")
}
