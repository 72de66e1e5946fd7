import { PassThrough } from "node:stream"

import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"

import { RequestBodies } from "../../../src/http/edge/RequestBodies.ts"

type Body = PassThrough & { headers: Record<string, string>; httpVersionMinor: number }

/** A body that a test writes, and the request that it belongs to. */
const bodyOf = (headers: Record<string, string> = {}) => {
  const continued: Array<string> = []
  const body: Body = Object.assign(new PassThrough(), { headers, httpVersionMinor: 1 })
  const request = Object.assign(HttpServerRequest.fromWeb(new Request("http://localhost/", { method: "POST" })), {
    source: body
  })
  Object.assign(request, { response: { writeContinue: () => continued.push("continue") } })
  return { body, continued, request }
}

/** Lets a stream pass on what was written to it. */
const flow = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Writes this many bytes at once. */
const send = (body: Body, bytes: number | string) =>
  Effect.andThen(
    Effect.sync(() => body.write(typeof bytes === "number" ? Buffer.alloc(bytes) : bytes)),
    flow
  )

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

type Reading<A, E> = (bodies: RequestBodies["Service"]) => Effect.Effect<A, E, HttpServerRequest.HttpServerRequest>

/** Begins to read a body. Gives the outcome, and after how many milliseconds it was there. */
const outcomeOf = <A, E extends { readonly error: unknown }>(
  request: HttpServerRequest.HttpServerRequest,
  read: Reading<A, E>
) =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    return yield* read(yield* RequestBodies).pipe(
      Effect.match({ onFailure: ({ error }) => error, onSuccess: (value) => value }),
      Effect.zip(Clock.currentTimeMillis),
      Effect.map(([outcome, ended]) => ({ outcome, millis: ended - began })),
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.forkChild({ startImmediately: true })
    )
  })

const stalled = { code: "request_timeout", message: "Nothing of the request body arrived for 5 seconds" }
const slow = {
  code: "request_timeout",
  message: "The request body fell more than 10 seconds behind a rate of 16 KiB per second"
}
const broken = { code: "invalid_request", message: "The request body could not be read to its end" }
const tooLarge = { code: "request_too_large", message: "The request body must have at most 1000 bytes" }

const maxBytes = 1_000

const listeners = (body: Body) => ["data", "end", "readable", "close"].map((name) => body.listenerCount(name))

const everything = () => true

describe("A request body", () => {
  for (const phase of ["begin", "whole"] as const) {
    it.effect(`of which nothing arrives is given up after five seconds, in ${phase}`, () =>
      Effect.gen(function* () {
        const { body, request } = bodyOf()
        const before = listeners(body)
        const reading = yield* outcomeOf(request, (bodies) => bodies[phase](request, maxBytes))
        yield* TestClock.adjust("5 seconds")
        assert.isUndefined(reading.pollUnsafe())
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* Fiber.join(reading), { outcome: stalled, millis: 5_500 })
        assert.deepStrictEqual(listeners(body), before)
      }).pipe(Effect.provide(RequestBodies.layer))
    )
  }

  it.effect("that falls silent is given up five seconds after its last bytes", () =>
    Effect.gen(function* () {
      const { body, request } = bodyOf()
      const reading = yield* outcomeOf(request, (bodies) => bodies.rest(request, everything))
      for (let second = 0; second < 3; second++) {
        yield* send(body, 100_000)
        yield* TestClock.adjust("4 seconds")
      }
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Fiber.join(reading), { outcome: stalled, millis: 8_000 + 500 + 5_500 })
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  for (const burst of [0, 10_000_000]) {
    it.effect(`that drips is given up after ten seconds, after ${burst} bytes at once`, () =>
      Effect.gen(function* () {
        const { body, request } = bodyOf()
        const reading = yield* outcomeOf(request, (bodies) => bodies.rest(request, everything))
        yield* send(body, burst)
        for (let second = 0; second < 15; second++) {
          yield* send(body, 1)
          yield* TestClock.adjust("1 second")
        }
        const { millis, outcome } = yield* Fiber.join(reading)
        assert.deepStrictEqual(outcome, slow)
        assert.strictEqual(millis, burst === 0 ? 10_500 : 11_000)
      }).pipe(Effect.provide(RequestBodies.layer))
    )
  }

  it.effect("of 25 MB at 64 kB per second is read to its end, with pauses of four seconds", () =>
    Effect.gen(function* () {
      const { body, request } = bodyOf()
      let received = 0
      const reading = yield* outcomeOf(request, (bodies) =>
        bodies.rest(request, (bytes) => {
          received += bytes.length
          return true
        })
      )
      for (let sent = 0; sent < 25_000_000; sent += 250_000) {
        yield* send(body, 250_000)
        yield* TestClock.adjust("4 seconds")
      }
      body.end()
      yield* flow
      assert.deepStrictEqual(yield* Fiber.join(reading), { outcome: undefined, millis: 400_000 })
      assert.strictEqual(received, 25_000_000)
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect("waits as long as it has to between its first bytes and the rest, which are all there then", () =>
    Effect.gen(function* () {
      const { body, request } = bodyOf()
      const beginning = yield* outcomeOf(request, (bodies) => bodies.begin(request))
      yield* send(body, "first ")
      assert.deepStrictEqual(yield* Fiber.join(beginning), { outcome: undefined, millis: 0 })
      yield* send(body, "second ")
      yield* TestClock.adjust("1 minute")
      let text = ""
      const reading = yield* outcomeOf(request, (bodies) =>
        bodies.rest(request, (bytes) => {
          text += decode(bytes)
          return true
        })
      )
      yield* send(body, "third")
      body.end()
      yield* flow
      assert.deepStrictEqual(yield* Fiber.join(reading), { outcome: undefined, millis: 0 })
      assert.strictEqual(text, "first second third")
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect("that is empty has begun when it ends", () =>
    Effect.gen(function* () {
      const { body, request } = bodyOf()
      body.end()
      const beginning = yield* outcomeOf(request, (bodies) => bodies.begin(request))
      yield* flow
      assert.deepStrictEqual(yield* Fiber.join(beginning), { outcome: undefined, millis: 0 })
      const reading = yield* outcomeOf(request, (bodies) => bodies.rest(request, everything))
      yield* flow
      assert.deepStrictEqual(yield* Fiber.join(reading), { outcome: undefined, millis: 0 })
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect("whose connection breaks is refused, and is no longer listened to", () =>
    Effect.gen(function* () {
      for (const phase of ["begin", "whole"] as const) {
        const { body, request } = bodyOf()
        const reading = yield* outcomeOf(request, (bodies) => bodies[phase](request, maxBytes))
        body.destroy(new Error("aborted"))
        yield* flow
        assert.deepStrictEqual((yield* Fiber.join(reading)).outcome, broken)
        const late = yield* outcomeOf(request, (bodies) => bodies[phase](request, maxBytes))
        assert.deepStrictEqual((yield* Fiber.join(late)).outcome, broken)
        assert.deepStrictEqual(listeners(body), [0, 0, 0, 0])
      }
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect("whose reader has a defect ends with that defect", () =>
    Effect.gen(function* () {
      const { body, request } = bodyOf()
      const defect = new Error("a fault in the parser")
      const reading = yield* outcomeOf(request, (bodies) =>
        bodies.rest(request, () => {
          throw defect
        })
      )
      yield* send(body, "x")
      assert.deepStrictEqual(yield* Fiber.await(reading), Exit.die(defect))
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect("of a client that left is no longer listened to, and may break without harm", () =>
    Effect.gen(function* () {
      for (const phase of ["begin", "whole"] as const) {
        const { body, request } = bodyOf()
        const before = listeners(body)
        const reading = yield* outcomeOf(request, (bodies) => bodies[phase](request, maxBytes))
        assert.notDeepEqual(listeners(body), before)
        yield* Fiber.interrupt(reading)
        assert.deepStrictEqual(listeners(body), before)
        body.destroy(new Error("aborted"))
        yield* flow
      }
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect("is told to continue once, if its client waits for that", () =>
    Effect.gen(function* () {
      for (const [expect, minor, expected] of [
        ["100-continue", 1, ["continue"]],
        ["100-continue", 0, []],
        [undefined, 1, []]
      ] as const) {
        const { body, continued, request } = bodyOf(expect && { expect })
        body.httpVersionMinor = minor
        body.end()
        const reading = yield* outcomeOf(request, (bodies) =>
          Effect.andThen(bodies.begin(request), bodies.rest(request, everything))
        )
        yield* flow
        yield* Fiber.join(reading)
        assert.deepStrictEqual(continued, [...expected])
      }
    }).pipe(Effect.provide(RequestBodies.layer))
  )

  it.effect.prop(
    "is the same in pieces of any size, with any declared length, up to its limit",
    {
      pieces: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))),
      declared: Schema.Literals(["none", "0", "exact", "1001", "99999999999", "NaN"])
    },
    ({ declared, pieces }) =>
      Effect.gen(function* () {
        const texts = pieces.map((size, at) => String.fromCharCode(97 + (at % 26)).repeat(size))
        const whole = texts.join("")
        const length = declared === "exact" ? String(whole.length) : declared
        const { body, request } = bodyOf(declared === "none" ? {} : { "content-length": length })
        const reading = yield* outcomeOf(request, (bodies) => Effect.map(bodies.whole(request, maxBytes), decode))
        for (const text of texts) yield* send(body, text)
        body.end()
        yield* flow
        const { outcome } = yield* Fiber.join(reading)
        assert.deepStrictEqual(outcome, whole.length > maxBytes ? tooLarge : whole)
      }).pipe(Effect.provide(RequestBodies.layer))
  )
})
