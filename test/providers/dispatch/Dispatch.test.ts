import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Logger, Scope, Stream } from "effect"

import { fold } from "../../../src/domain/Completion.ts"
import type { ChatRequest } from "../../../src/domain/Conversation.ts"
import { Failure } from "../../../src/domain/Failure.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import type { ProviderAnswer } from "../../../src/providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../../../src/providers/dispatch/Target.ts"
import { type Behaviour, dataEvent, hangs, resets, streams } from "../../support/fake-provider/FakeProvider.ts"
import { withManualTime } from "../../support/ManualTime.ts"
import { withEventStream } from "../../support/Packets.ts"
import {
  answers,
  bytesOnlyLayer,
  FakeTargets,
  held,
  json,
  quick,
  request,
  status,
  targetOf,
  testLayer
} from "./FakeTargets.ts"

const complete = (...targets: readonly [Target, ...Array<Target>]) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.complete({ held, request, targets })).pipe(
    Effect.map((answer) => ({ ...answer, value: fold(answer.value) }))
  )

const open = (...targets: readonly [Target, ...Array<Target>]) =>
  Effect.flatMap(Dispatch, (dispatch) => withEventStream(dispatch.open({ held, request, targets })))

const trail = ({ attempts }: Pick<ProviderAnswer<unknown>, "attempts">) =>
  attempts.map(({ endpoint, outcome }) => `${endpoint} ${outcome}`)

const page: Behaviour = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>hello</h1>")
const halfJson: Behaviour = (response) =>
  response.writeHead(200, { "content-type": "application/json" }).end('{"text":"hal')
const cutJson: Behaviour = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
  response.write('{"text":')
  setTimeout(() => response.destroy(), 20)
}
const hello = streams([
  dataEvent({ text: "hel" }),
  dataEvent({ text: "lo" }),
  dataEvent({ finish: "stop" }),
  "data: [DONE]\n\n"
])

describe("Dispatch.complete", () => {
  const faults: ReadonlyArray<readonly [string, Behaviour, number]> = [
    ["a server error", status(500), 2],
    ["a reset connection", resets, 2],
    ["a web page", page, 2],
    ["half an answer", halfJson, 2],
    ["an answer that is cut off", cutJson, 2],
    ["an error inside a 200", json({ error: {} }), 2],
    ["an answer without an end", json({ text: "hello" }), 2],
    ["a rate limit", status(429, { "retry-after": "1" }), 1],
    ["silence", hangs, 1],
    ["an account that is refused", status(401), 1],
    ["a model that is missing", status(404), 1]
  ]
  for (const [name, behaviour, tries] of faults) {
    it.live(`fails over to the next target after ${name}`, () =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const bad = fake.target("bad", behaviour)
        const good = fake.target("good", answers("hello"))
        const answer = yield* complete(bad, good)
        assert.strictEqual(answer.value.content, "hello")
        assert.strictEqual(answer.target, good)
        assert.strictEqual(fake.calls(bad), tries)
        assert.strictEqual(answer.attempts.length, tries + 1)
        assert.strictEqual(answer.attempts.at(-1)?.outcome, "answered")
      }).pipe(Effect.provide(testLayer()))
    )
  }

  it.live("tries the same target again before it fails over, and records every try", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const answer = yield* complete(fake.target("shaky", status(500), answers("hello")), targetOf("other"))
      assert.deepStrictEqual(trail(answer), ["shaky Transient", "shaky answered"])
      assert.strictEqual(answer.attempts[0]?.status, 500)
      assert.isAtLeast(answer.attempts[0]?.latencyMillis ?? -1, 0)
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("waits as long as the only target asks for, when that is short", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const [elapsed, answer] = yield* Effect.timed(
        complete(fake.target("busy", status(429, { "retry-after": "1" }), answers("hello")))
      )
      assert.strictEqual(answer.value.content, "hello")
      assert.isAtLeast(Duration.toMillis(elapsed), 990)
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("reports the shortest wait when every target is rate-limited", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const error = yield* Effect.flip(
        complete(
          fake.target("a", status(429, { "retry-after": "60" })),
          fake.target("b", status(429, { "retry-after": "30" }))
        )
      )
      assert.deepStrictEqual(trail(error), ["a Transient", "b Transient"])
      assert.deepStrictEqual(error.rateLimited, { retryAfter: Duration.seconds(30) })
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("does not report a rate limit when one target failed for another reason", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const error = yield* Effect.flip(complete(fake.target("a", status(429)), fake.target("b", status(500))))
      assert.isUndefined(error.rateLimited)
      assert.strictEqual(error.last.status, 500)
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("stops at a failure that blames the request", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const other = fake.target("other", answers("hello"))
      const error = yield* Effect.flip(complete(fake.target("strict", status(400)), other))
      assert.strictEqual(error.last.reason._tag, "Invalid")
      assert.strictEqual(fake.calls(other), 0)
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("answers with an empty completion that costs nothing when the provider refuses the content", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const answer = yield* complete(fake.target("prude", status(451)), targetOf("other"))
      assert.strictEqual(answer.value.finishReason, "content_filter")
      assert.strictEqual(answer.value.content, "")
      assert.strictEqual(answer.value.usage?.output, 0)
      assert.deepStrictEqual(trail(answer), ["prude Refused"])
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("fails over only to targets with a larger window when the prompt is too long", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const small = fake.target("small", status(413))
      const same = fake.target("same", answers("no"))
      fake.target("large", answers("hello"))
      const answer = yield* complete(small, same, targetOf("large", 2_000))
      assert.deepStrictEqual(trail(answer), ["small ContextTooLong", "large answered"])
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("tries the other endpoints of a model when one endpoint does not know it", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      fake.target("first", status(404))
      fake.target("second", answers("hello"))
      const answer = yield* complete(targetOf("first", 1_000, "m"), targetOf("second", 1_000, "m"))
      assert.deepStrictEqual(trail(answer), ["first Unsupported", "second answered"])
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("loads the images of a request once for all targets that take bytes", () => {
    let loads = 0
    const inlined = (asked: ChatRequest) => Effect.sync(() => (loads++, asked))
    return Effect.gen(function* () {
      const fake = yield* FakeTargets
      yield* complete(fake.target("first", status(500)), fake.target("second", answers("hello")))
      assert.strictEqual(loads, 1)
    }).pipe(Effect.provide(bytesOnlyLayer(inlined)))
  })

  it.live("reports which image cannot be loaded when no target takes its URL", () => {
    const unloadable = new Failure({ reason: { _tag: "Unsupported" }, message: "The image is not public." })
    return Effect.gen(function* () {
      const fake = yield* FakeTargets
      const error = yield* Effect.flip(
        complete(fake.target("bytes", answers("no")), fake.target("more", answers("no")))
      )
      assert.deepStrictEqual(trail(error), ["bytes Unsupported", "more Unsupported"])
      assert.strictEqual(error.last.message, "The image is not public.")
    }).pipe(Effect.provide(bytesOnlyLayer(() => Effect.fail(unloadable))))
  })

  it.live("makes no more tries than its budget allows", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const targets = ["a", "b", "c"].map((name) => fake.target(name, status(500)))
      const error = yield* Effect.flip(complete(targets[0] ?? targetOf("a"), ...targets.slice(1)))
      assert.deepStrictEqual(trail(error), ["a Transient", "a Transient", "b Transient"])
    }).pipe(Effect.provide(testLayer({ tries: 3 })))
  )

  it.live("gives up at its deadline and reports what it tried", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const stuck = fake.target("stuck", hangs)
      const error = yield* Effect.flip(complete(fake.target("down", status(500)), stuck))
      assert.deepInclude(error.last.reason, { _tag: "Transient", kind: "timeout" })
      assert.deepStrictEqual(trail(error), ["down Transient", "down Transient"])
      yield* fake.aborted(stuck)
    }).pipe(Effect.provide(testLayer({ deadline: Duration.millis(150) })))
  )

  it.live("gives up at its deadline when it passes between the targets", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const exhausted = yield* Effect.flip(complete(fake.target("first", hangs), fake.target("second", hangs)))
      assert.deepStrictEqual(trail(exhausted), ["first Transient"])
      assert.strictEqual(exhausted.last.message, "No provider answered in time.")
    }).pipe(
      Effect.provide(
        testLayer(
          { deadline: Duration.millis(250) },
          { ...quick, call: Duration.millis(200), firstByte: Duration.minutes(1) }
        )
      )
    )
  )

  it.live("fails over from a provider that cannot be reached or is not switched on", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const good = fake.target("good", answers("hello"))
      const answer = yield* complete(targetOf("unknown"), targetOf("unreachable"), good)
      assert.deepStrictEqual(trail(answer), [
        "unknown Credentials",
        "unreachable Transient",
        "unreachable Transient",
        "good answered"
      ])
      assert.include(answer.attempts[1]?.message ?? "", "ECONNREFUSED")
    }).pipe(Effect.provide(testLayer()))
  )

  it.live("logs an error that names the provider when it refuses our account", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const capture = Logger.map(Logger.formatJson, (line) => void lines.push(line))
      const fake = yield* FakeTargets
      const targets = [fake.target("broke", status(401)), fake.target("good", answers("hello"))] as const
      yield* complete(...targets).pipe(Effect.provide(Logger.layer([capture])))
      const [refused = "", ...others] = lines.filter((line) => line.includes('"ERROR"'))
      assert.lengthOf(others, 0)
      assert.include(refused, "A provider refused our account")
      assert.include(refused, '"provider":"broke"')
      assert.notInclude(lines.join(), "secret")
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("Dispatch.open", () => {
  const early: ReadonlyArray<readonly [string, Behaviour]> = [
    ["an error status", status(503)],
    [
      "an error before the first output",
      streams([": hi\n\n", dataEvent({}), dataEvent({ error: {} })], { ending: "open" })
    ],
    ["an end without an answer", streams([dataEvent({})])],
    [
      "pings without output",
      (response, received) => {
        streams([], { ending: "open" })(response, received)
        const timer = setInterval(() => response.write(": ping\n\n"), 50)
        response.on("close", () => clearInterval(timer))
      }
    ],
    ["silence after the headers", streams([dataEvent({})], { ending: "open" })],
    ["a web page", page],
    [
      "a reset after the headers",
      (response, received) => {
        streams([dataEvent({})], { ending: "open" })(response, received)
        setTimeout(() => response.destroy(), 20)
      }
    ]
  ]
  for (const [name, behaviour] of early) {
    it.live(`fails over after ${name}`, () =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const answer = yield* open(fake.target("bad", behaviour), fake.target("good", hello))
        const whole = fold(yield* Stream.runCollect(answer.value))
        assert.strictEqual(whole.content, "hello")
        assert.strictEqual(answer.target.endpoint.id, "good")
      }).pipe(Effect.scoped, Effect.provide(testLayer()))
    )
  }

  it.live("closes the connection of a failed attempt before the next one starts", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      let wasClosed = false
      const bad = fake.target("bad", (response, received) => {
        response.on("close", () => (wasClosed = true))
        streams([dataEvent({ error: {} })], { ending: "open" })(response, received)
      })
      let closedAtNext: boolean | undefined
      const good = fake.target("good", (response, received) =>
        setTimeout(() => {
          closedAtNext = wasClosed
          hello(response, received)
        }, 50)
      )
      yield* Stream.runDrain((yield* open(bad, good)).value)
      assert.isTrue(closedAtNext)
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("does not fail over after the first output: the stream fails and no text is repeated", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const good = fake.target("good", hello)
      const cut = fake.target("cut", (response, received) => {
        streams([dataEvent({ text: "hel" })], { ending: "open" })(response, received)
        setTimeout(() => response.destroy(), 30)
      })
      const answer = yield* open(cut, good)
      const seen: Array<string> = []
      const failure = yield* answer.value.pipe(
        Stream.runForEach((event) => Effect.sync(() => seen.push(event.type))),
        Effect.flip
      )
      assert.deepInclude(failure.reason, { _tag: "Transient", kind: "network" })
      assert.deepStrictEqual(seen, ["text"])
      assert.strictEqual(fake.calls(good), 0)
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("delivers the events before an error in the same packet, then fails", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const answer = yield* open(
        fake.target("x", streams([dataEvent({ text: "hel" }) + dataEvent({ error: {} })], { ending: "open" }))
      )
      const seen: Array<string> = []
      const failure = yield* answer.value.pipe(
        Stream.runForEach((event) => Effect.sync(() => seen.push(event.type))),
        Effect.flip
      )
      assert.deepInclude(failure.reason, { kind: "overloaded" })
      assert.deepStrictEqual(seen, ["text"])
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("fails a stream that falls silent after its first output", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const mute = fake.target("mute", streams([dataEvent({ text: "hel" })], { ending: "open" }))
      const failure = yield* Effect.flip(Stream.runDrain((yield* open(mute)).value))
      assert.deepInclude(failure.reason, { _tag: "Transient", kind: "timeout" })
      yield* fake.aborted(mute)
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("does not blame the provider for a client that reads slowly", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const sent = yield* Deferred.make<void>()
      const paused: Behaviour = (response, received) => {
        streams([dataEvent({ text: "hel" })], { ending: "open" })(response, received)
        const rest = [dataEvent({ text: "lo" }), dataEvent({ finish: "stop" }), "data: [DONE]\n\n"].join("")
        const finish = () => response.end(rest, () => Deferred.doneUnsafe(sent, Exit.void))
        setTimeout(finish, 1.5 * Duration.toMillis(quick.silence))
      }
      const answer = yield* open(fake.target("paused", paused))
      yield* Deferred.await(sent)
      assert.strictEqual(fold(yield* Stream.runCollect(answer.value)).content, "hello")
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("closes the upstream connection at once when the client leaves", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const slow = fake.target("slow", streams([dataEvent({ text: "hel" })], { ending: "open" }))
      const scope = yield* Scope.make()
      const answer = yield* Scope.provide(open(slow), scope)
      const reading = yield* Deferred.make<void>()
      const reader = yield* answer.value.pipe(
        Stream.runForEach(() => Deferred.succeed(reading, undefined)),
        Effect.forkChild
      )
      yield* Deferred.await(reading)
      yield* Fiber.interrupt(reader)
      yield* Scope.close(scope, Exit.void)
      yield* fake.aborted(slow)
    }).pipe(Effect.provide(testLayer({}, { ...quick, silence: Duration.minutes(1) })))
  )

  it.live("closes the upstream connection when the client leaves before the first output", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const slow = fake.target("slow", hangs)
      const waiting = yield* Effect.forkChild(Effect.scoped(open(slow)))
      yield* fake.arrival(slow)
      yield* Fiber.interrupt(waiting)
      yield* fake.aborted(slow)
    }).pipe(
      Effect.provide(testLayer({}, { ...quick, firstByte: Duration.minutes(1), firstOutput: Duration.minutes(1) }))
    )
  )

  it.live("accepts a plain answer to a request for a stream, and fails over if it is an error", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const answer = yield* open(fake.target("bad", json({ error: {} })), fake.target("whole", answers("hello")))
      assert.strictEqual(fold(yield* Stream.runCollect(answer.value)).content, "hello")
      assert.deepStrictEqual(trail(answer), ["bad Transient", "bad Transient", "whole answered"])
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("accepts a stream with a finish event and no output as an answer", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const answer = yield* open(fake.target("terse", streams([dataEvent({ finish: "stop" }), "data: [DONE]\n\n"])))
      const whole = fold(yield* Stream.runCollect(answer.value))
      assert.deepStrictEqual([whole.content, whole.finishReason], ["", "stop"])
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("reuses the socket of a stream that has ended", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const late: Behaviour = (response, received) => {
        streams([dataEvent({ text: "hello" }), dataEvent({ finish: "stop" }), "data: [DONE]\n\n"], { ending: "open" })(
          response,
          received
        )
        setTimeout(() => response.end(), 30)
      }
      const target = fake.target("good", late)
      for (let index = 0; index < 6; index++) {
        yield* Effect.scoped(Effect.flatMap(open(target), (answer) => Stream.runDrain(answer.value)))
      }
      // The next request may start a moment before the socket is free, which makes a second one.
      assert.isAtMost(fake.connections(), 2)
    }).pipe(Effect.provide(testLayer()))
  )
})

describe("The circuit breaker of an endpoint", () => {
  const fail = (target: Target) => Effect.ignore(complete(target))

  it.live("opens when the endpoint keeps failing, and is ignored when no other target is left", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const down = fake.target("down", status(500))
      const good = fake.target("good", answers("hello"))
      yield* Effect.repeat(fail(down), { times: 4 })
      assert.deepStrictEqual(trail(yield* complete(down, good)), ["down skipped", "good answered"])
      fake.target("down", answers("back"))
      assert.strictEqual((yield* complete(down)).value.content, "back")
    }).pipe(Effect.provide(testLayer({ triesPerTarget: 1 })))
  )

  it.live("opens at once for as long as a rate limit asks, and closes after a successful probe", () =>
    withManualTime((pass) =>
      Effect.gen(function* () {
        const fake = yield* FakeTargets
        const busy = fake.target("busy", status(429, { "retry-after": "1" }), answers("free again"))
        const good = fake.target("good", answers("hello"))
        yield* complete(busy, good)
        assert.deepStrictEqual(trail(yield* complete(busy, good)), ["busy skipped", "good answered"])
        yield* pass("1 second")
        assert.deepStrictEqual(trail(yield* complete(busy, good)), ["busy answered"])
        assert.deepStrictEqual(trail(yield* complete(busy, good)), ["busy answered"])
      }).pipe(Effect.provide(testLayer()))
    )
  )

  it.live("does not count what clients do", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      // Enough to open the breaker if they counted.
      const faulty = [400, 404, 413, 400, 404, 413, 400, 404, 413, 400]
      const target = fake.target("strict", ...faulty.map((code) => status(code)), hangs)
      yield* Effect.repeat(fail(target), { times: faulty.length - 1 })
      yield* Effect.repeat(Effect.timeoutOption(complete(target), "30 millis"), { times: 9 })
      fake.target("strict", answers("hello"))
      assert.deepStrictEqual(trail(yield* complete(target, targetOf("other"))), ["strict answered"])
    }).pipe(Effect.provide(testLayer({ triesPerTarget: 1 })))
  )

  it.live("counts streams that break after their first output", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const flaky = fake.target("flaky", streams([dataEvent({ text: "hel" })]))
      const once = Effect.scoped(Effect.flatMap(open(flaky), ({ value }) => Effect.exit(Stream.runDrain(value))))
      yield* Effect.repeat(once, { times: 4 })
      const answer = yield* Effect.scoped(open(flaky, fake.target("good", hello)))
      assert.deepStrictEqual(trail(answer), ["flaky skipped", "good answered"])
    }).pipe(Effect.provide(testLayer()))
  )
})
