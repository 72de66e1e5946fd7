/**
 * Providers that never come to an end, or never start, with the real protocols and short timeouts: each of them is
 * given up in time, and its connection is closed.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Logger, Stream } from "effect"
import { SecureRandom } from "effect/crypto"

import { Catalog } from "../../../src/catalog/Catalog.ts"
import { type ChatProtocolName, chatProtocolNames } from "../../../src/catalog/Model.ts"
import { CircuitBreakers } from "../../../src/providers/dispatch/CircuitBreakers.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import * as Failover from "../../../src/providers/dispatch/FailoverRules.ts"
import type { Target } from "../../../src/providers/dispatch/Target.ts"
import { ImageFetch } from "../../../src/providers/images/ImageFetch.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import { defaultTimeouts } from "../../../src/providers/transport/Timeouts.ts"
import { awaited } from "../../support/Chat.ts"
import * as Fake from "../../support/fake-provider/FakeProvider.ts"
import { streamOfEvents } from "../../support/Packets.ts"
import { accountAt, catalogOf, held, request, targetOf } from "../dispatch/FakeTargets.ts"

const timeouts = {
  ...defaultTimeouts,
  firstByte: Duration.millis(300),
  firstBytePlain: Duration.millis(300),
  firstOutput: Duration.millis(400),
  silence: Duration.millis(200),
  call: Duration.millis(600)
}

/** Far more than any timeout above, because a busy machine keeps them late, and less than the default ones. */
const testTimeout = Duration.seconds(50)

/** A catalog whose providers are all the fake one. */
const FakeCatalog = Layer.effect(
  Catalog,
  Effect.map(Fake.FakeProvider, ({ url }) => catalogOf((provider) => accountAt(provider, url)))
)

const dispatchWithin = (limits: typeof timeouts) =>
  Dispatch.layerWith({
    protocols,
    timeouts: limits,
    limits: { ...Failover.defaultFailoverLimits, triesPerTarget: 1 }
  }).pipe(
    Layer.provide([HttpTransport.layer(limits), CircuitBreakers.layer, ImageFetch.layer()]),
    Layer.provide([FakeCatalog, SecureRandom.layerWebCrypto])
  )

const testLayer = dispatchWithin(timeouts).pipe(
  Layer.provideMerge(Fake.FakeProvider.layer),
  Layer.provideMerge(Logger.layer([]))
)

/** Sends `first`, then `again` every five milliseconds for as long as the connection is open. */
const forever =
  (mediaType: string, first: ReadonlyArray<Buffer>, again: string | Buffer): Fake.Behaviour =>
  async (response) => {
    response.writeHead(200, { "content-type": mediaType })
    for (const piece of first) response.write(piece)
    while (!response.destroyed) {
      if (again !== "") response.write(again)
      await Fake.pause(5)
    }
  }

const streams: { readonly [name: string]: (sample: Fake.WireAnswer) => Fake.Behaviour } = {
  "never answers": () => Fake.hangs,
  "never sends output": ({ mediaType, start }) => forever(mediaType, start, ""),
  "repeats its start for ever": ({ mediaType, start }) => forever(mediaType, [], start[0] ?? ""),
  "sends output for ever": ({ delta, mediaType, start }) => forever(mediaType, start, delta("more ")),
  "stops sending": ({ delta, mediaType, start }) => forever(mediaType, [...start, delta("Hello")], ""),
  "never finishes a frame": ({ delta, mediaType, start }) =>
    forever(mediaType, [...start, delta("Hello"), delta("x".repeat(900_000)).subarray(0, -9)], ""),
  "keeps the connection open after the end": ({ delta, end, mediaType, start }) =>
    forever(mediaType, [...start, delta("Hello"), ...end], "")
}

/** Runs the check with every protocol in turn, and checks that the gateway closes each connection. */
const everywhere = <A, E, R>(
  behaviour: (sample: Fake.WireAnswer) => Fake.Behaviour,
  check: (protocol: ChatProtocolName, target: Target) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const provider = yield* Fake.FakeProvider
    for (const protocol of chatProtocolNames) {
      provider.script(behaviour(Fake.answerIn(protocol)))
      const target = targetOf(`${protocol}-model`)
      yield* check(protocol, { ...target, endpoint: { ...target.endpoint, protocol } }).pipe(
        Effect.timeoutOrElse({ duration: testTimeout, orElse: () => Effect.die(`${protocol} hangs`) })
      )
      const { aborted } = yield* awaited(provider.arrival(), `the call of ${protocol}`)
      yield* awaited(aborted, `the end of ${protocol}'s connection`)
    }
  })

layer(testLayer, { excludeTestServices: true })("A provider that", (it) => {
  for (const [name, behaviour] of Object.entries(streams))
    it.effect(`${name} is given up in time ${chatProtocolNames.map((one) => `[${one}: errors]`).join(" ")}`, () =>
      everywhere(behaviour, (protocol, target) =>
        Effect.gen(function* () {
          // Gemini has no end marker: its streams end with the connection.
          const endsByItself = name.startsWith("keeps") && protocol !== "gemini"
          const limits = endsByItself ? defaultTimeouts : timeouts
          const dispatch = Context.get(yield* Layer.build(dispatchWithin(limits)), Dispatch)
          const outcome = yield* dispatch.open({ held, request, targets: [target] }).pipe(
            Effect.flatMap(({ value }) => Stream.runForEach(streamOfEvents(value), () => Effect.void)),
            Effect.scoped,
            Effect.result
          )
          if (endsByItself) return assert.strictEqual(outcome._tag, "Success", protocol)
          if (outcome._tag === "Success") return assert.fail(`${protocol} found an end`)
          const failure = outcome.failure._tag === "Exhausted" ? outcome.failure.last : outcome.failure
          assert.deepInclude(failure.reason, { _tag: "Transient" })
          return assert.match(failure.message, /in time|silent|too long|without any output/)
        })
      )
    )

  for (const [name, again] of Object.entries({
    "never begins a plain answer": "",
    "pads a plain answer for ever": " "
  }))
    it.effect(`${name} is given up in time ${chatProtocolNames.map((one) => `[${one}: errors]`).join(" ")}`, () =>
      everywhere(
        () => forever("application/json", [Buffer.from("\n")], again),
        (_, target) =>
          Effect.gen(function* () {
            const dispatch = yield* Dispatch
            const error = yield* Effect.flip(dispatch.complete({ held, request, targets: [target] }))
            assert.match(error.last.message, /silent|too long/)
          })
      )
    )
})
