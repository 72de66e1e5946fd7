import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"

import { failureOfResponse } from "../../../src/providers/protocols/bedrock-converse/Errors.ts"
import * as AwsSignature from "../../../src/providers/transport/AwsSignature.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import { eventMessage } from "../../../src/sandbox/protocols/bedrock-converse/Response.ts"
import * as Fake from "../../support/fake-provider/FakeProvider.ts"
import { streamOfPackets } from "../../support/Packets.ts"
import { accountAt } from "../dispatch/FakeTargets.ts"
import { failureTag } from "../protocols/wire.ts"

const signer = { accessKeyId: "AKID", secretAccessKey: "secret", region: "us-east-1" }

/** Requests a stream from a provider that answers like this. `received` lists the requests that reached it. */
const openStream = Effect.fnUntraced(function* (behaviour: Fake.Behaviour) {
  const provider = yield* Fake.FakeProvider
  provider.script(behaviour)
  const transport = yield* HttpTransport
  const opened = yield* Effect.result(
    transport.open({
      account: {
        ...accountAt("bedrock", provider.url),
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
  return { opened, received: provider.received }
})

const eventStream = "application/vnd.amazon.eventstream"

const binary = (...packets: ReadonlyArray<Uint8Array>) => Fake.streams(packets, { mediaType: eventStream })

const testLayer = Layer.merge(
  HttpTransport.layer().pipe(Layer.provide(SecureRandom.layerWebCrypto)),
  Fake.FakeProvider.layer
)

describe("HttpTransport with an AWS account", () => {
  it.live("sends exactly what was signed", () =>
    Effect.gen(function* () {
      const { received } = yield* openStream(binary())
      const [arrived] = received
      const { headers, path, text } = arrived ?? assert.fail("nothing arrived")
      assert.strictEqual(headers["accept"], eventStream)
      const [, year, month, day, hour, minute, second] =
        /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(headers["x-amz-date"])) ?? []
      const resigned = yield* Effect.gen(function* () {
        yield* TestClock.setTime(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`))
        return yield* AwsSignature.signedHeaders(
          { ...signer, service: "bedrock" },
          { url: `http://${headers.host}${path}`, body: text, contentType: String(headers["content-type"]) }
        )
      }).pipe(Effect.provide(TestClock.layer()))
      assert.strictEqual(headers["authorization"], resigned["authorization"])
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )

  it.live("reads a binary stream, however it is split into packets", () =>
    Effect.gen(function* () {
      const bytes = Buffer.concat([eventMessage("event", "a", { one: 1 }), eventMessage("exception", "bException", {})])
      const { opened } = yield* openStream(binary(bytes.subarray(0, 70), bytes.subarray(70)))
      assert.strictEqual(opened._tag, "Success")
      if (opened._tag === "Failure" || opened.success._tag === "Json") return assert.fail("no frames")
      const { frames } = opened.success
      const read: Array<unknown> = []
      yield* Stream.runForEach(streamOfPackets(frames), ({ data, event }) =>
        Effect.sync(() => read.push([event, data]))
      )
      assert.deepStrictEqual(read, [
        ["a", `{"one":1}`],
        ["bException", "{}"]
      ])
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )

  it.live("fails when the stream has another framing", () =>
    Effect.gen(function* () {
      const { opened } = yield* openStream(Fake.streams([]))
      assert.strictEqual(opened._tag === "Failure" ? failureTag(opened.failure) : "success", "broken")
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )

  it.live("passes the headers of an error answer to the protocol", () =>
    Effect.gen(function* () {
      const { opened } = yield* openStream(
        Fake.reply(400, { message: "m" }, { "x-amzn-errortype": "ThrottlingException:http://x/" })
      )
      assert.strictEqual(opened._tag === "Failure" ? failureTag(opened.failure) : "success", "rate_limited")
    }).pipe(Effect.scoped, Effect.provide(testLayer))
  )
})
