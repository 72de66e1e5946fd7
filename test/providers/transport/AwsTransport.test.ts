import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Pull, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"

import { providerId } from "../../../src/domain/Ids.ts"
import { failureOfResponse } from "../../../src/providers/protocols/bedrock-converse/Errors.ts"
import * as AwsSignature from "../../../src/providers/transport/AwsSignature.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import { message } from "../../../src/sandbox/protocols/bedrock-converse/Response.ts"
import { failureTag } from "../protocols/wire.ts"

const testLayer = HttpTransport.layer().pipe(Layer.provide(SecureRandom.layerWebCrypto))

const signer = { accessKeyId: "AKID", secretAccessKey: "secret", region: "us-east-1" }

interface Seen {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Requests a stream from a server that answers like this. `seen` lists the requests that it received. */
const openStream = Effect.fnUntraced(function* (answer: (response: ServerResponse) => void) {
  const seen: Array<Seen> = []
  const server = createServer((incoming, response) => {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      seen.push({ url: incoming.url ?? "", headers: incoming.headers, body: Buffer.concat(chunks).toString() })
      answer(response)
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = yield* HttpTransport
  const opened = yield* Effect.result(
    transport.open({
      account: {
        provider: {
          id: providerId("bedrock"),
          protocol: "openai-chat",
          dialect: "generic",
          baseUrl,
          apiKeyEnv: "",
          baseUrlEnv: "",
          auth: "bearer"
        },
        baseUrl,
        apiKey: Redacted.make("unused"),
        aws: { ...signer, secretAccessKey: Redacted.make(signer.secretAccessKey) }
      },
      wire: {
        path: "/model/us.amazon.nova-pro-v1%3A0/converse-stream",
        headers: {},
        body: { text: "é" },
        framing: "aws-event-stream"
      },
      failure: failureOfResponse
    })
  )
  return { opened, seen }
})

const streams =
  (media: string, ...packets: ReadonlyArray<Uint8Array>) =>
  (response: ServerResponse) => {
    response.writeHead(200, { "content-type": media })
    for (const packet of packets) response.write(packet)
    response.end()
  }
const eventStream = "application/vnd.amazon.eventstream"

describe("HttpTransport with an AWS account", () => {
  it.live("sends exactly what was signed", () =>
    Effect.gen(function* () {
      const { seen } = yield* openStream(streams(eventStream))
      const [arrived] = seen
      const { body, headers, url } = arrived ?? assert.fail("nothing arrived")
      assert.strictEqual(headers["accept"], eventStream)
      const [, year, month, day, hour, minute, second] =
        /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(headers["x-amz-date"])) ?? []
      const resigned = yield* Effect.gen(function* () {
        yield* TestClock.setTime(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`))
        return yield* AwsSignature.signedHeaders(
          { ...signer, service: "bedrock" },
          { url: `http://${headers.host}${url}`, body, contentType: String(headers["content-type"]) }
        )
      }).pipe(Effect.provide(TestClock.layer()))
      assert.strictEqual(headers["authorization"], resigned["authorization"])
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )

  it.live("reads a binary stream, however it is split into packets", () =>
    Effect.gen(function* () {
      const bytes = Buffer.concat([message("event", "a", { one: 1 }), message("exception", "bException", {})])
      const { opened } = yield* openStream(streams(eventStream, bytes.subarray(0, 70), bytes.subarray(70)))
      assert.strictEqual(opened._tag, "Success")
      if (opened._tag === "Failure" || opened.success._tag === "Json") return assert.fail("no frames")
      const { frames } = opened.success
      const read: Array<unknown> = []
      yield* Pull.catchDone(
        Effect.forever(Effect.map(frames, (packet) => read.push(...packet.map(({ data, event }) => [event, data])))),
        () => Effect.void
      )
      assert.deepStrictEqual(read, [
        ["a", `{"one":1}`],
        ["bException", "{}"]
      ])
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )

  it.live("fails when the stream has another framing", () =>
    Effect.gen(function* () {
      const { opened } = yield* openStream(streams("text/event-stream"))
      assert.strictEqual(opened._tag === "Failure" ? failureTag(opened.failure) : "success", "broken")
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )

  it.live("passes the headers of an error answer to the protocol", () =>
    Effect.gen(function* () {
      const { opened } = yield* openStream((response) =>
        response.writeHead(400, { "x-amzn-errortype": "ThrottlingException:http://x/" }).end(`{"message":"m"}`)
      )
      assert.strictEqual(opened._tag === "Failure" ? failureTag(opened.failure) : "success", "rate_limited")
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )
})
