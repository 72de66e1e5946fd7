import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope, Stream } from "effect"
import type { HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"

import { type ChatError, InternalError } from "../../../src/api/Errors.ts"
import { modelId, requestId } from "../../../src/domain/Ids.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import { none } from "../../../src/domain/Usage.ts"
import type { StreamedAnswer } from "../../../src/gateway/CompleteChat.ts"
import type { Delta } from "../../../src/gateway/Meter.ts"
import type { LastItem, StreamItems } from "../../../src/gateway/Settlement.ts"
import { keepAliveComment } from "../../../src/http/chat/ChatAnswer.ts"
import { chatEncoder } from "../../../src/http/chat/ChatCompletions.ts"
import * as AnswerStream from "../../../src/http/completion/AnswerStream.ts"
import type { Envelope, StreamHead } from "../../../src/http/completion/ClientProtocol.ts"
import type { RecordableStream } from "../../../src/idempotency/Recording.ts"
import { makeDeadlines } from "../../../src/timing/Deadlines.ts"
import { drainSignalOf, packetsOfItems } from "../../support/Packets.ts"

type StreamItem = Delta | LastItem

interface Options extends Omit<AnswerStream.StreamOptions, "deadlines" | "drainSignal"> {
  readonly drainSignal: Effect.Effect<never, InternalError>
}

/** The response, with deadlines of its own. */
const respond = Effect.fnUntraced(function* <R>(
  opening: Effect.Effect<RecordableStream, ChatError, R>,
  { drainSignal, ...rest }: Options
) {
  const deadlines = yield* makeDeadlines
  return yield* AnswerStream.respond(opening, { ...rest, deadlines, drainSignal: yield* drainSignalOf(drainSignal) })
})

const envelope: Envelope = {
  id: requestId("018f4f6e-0000-7000-8000-000000000001"),
  createdSeconds: 1,
  serviceName: "svc",
  fingerprint: "fp_1"
}

const encoderOf = (head: StreamHead) => chatEncoder(envelope, head, { keepsLastDetails: false })

const options: Options = {
  serviceName: "svc",
  keepAlive: keepAliveComment,
  keepAliveEvery: Duration.seconds(10),
  encoderOfFailure: () =>
    encoderOf({
      model: "",
      routing: { routed: true, model: null, latencyMillis: null },
      adjustments: [],
      promptTokens: 0
    }),
  drainSignal: Effect.never
}

const drainAfter = (seconds: number) =>
  Effect.delay(Effect.fail(InternalError.of("The gateway was stopped")), Duration.seconds(seconds))

const text = (content: string): StreamItem => ({ type: "text", text: content })
const settled: StreamItem = { type: "settled", finishReason: "stop", usage: none, cost: picodollars(7n) }

const answerOf = (items: StreamItems): StreamedAnswer => ({
  model: modelId("m"),
  routing: { routed: true, model: modelId("m"), latencyMillis: 1 },
  adjustments: [],
  promptTokens: 1,
  items
})

const opened = (items: Stream.Stream<StreamItem>) =>
  Effect.map(packetsOfItems(items), (packets) => ({
    texts: AnswerStream.textsOf(packets, encoderOf(answerOf(packets)))
  }))

/** A stream of these items, each of them after a silence of so many seconds. */
const paced = (...items: ReadonlyArray<readonly [seconds: number, item: StreamItem]>): Stream.Stream<StreamItem> =>
  Stream.mapEffect(Stream.fromIterable(items), ([seconds, item]) =>
    Effect.delay(Effect.succeed(item), Duration.seconds(seconds))
  )

/** A frame in a few words. */
const summaryOf = (frame: string): string => {
  if (!frame.startsWith("data: {")) return frame.trim()
  const { choices, error, svc, usage } = JSON.parse(frame.slice("data: ".length))
  if (error !== undefined) return `${choices[0].finish_reason} ${error.code} ${usage.cost}`
  if (usage !== undefined) return `${choices[0].finish_reason} ${usage.cost}`
  return svc === undefined ? choices[0].delta.content : "begins"
}

/** Reads the body of a response; `received` yields the frames since it was last asked, each in a few words. */
const listen = Effect.fnUntraced(function* (response: HttpServerResponse.HttpServerResponse) {
  const frames: Array<string> = []
  if (response.body._tag !== "Stream") return assert.fail("the response is no stream")
  yield* response.body.stream.pipe(
    Stream.decodeText,
    Stream.runForEach((piece) =>
      Effect.sync(() => {
        frames.push(
          ...piece
            .split("\n\n")
            .filter((frame) => frame !== "")
            .map(summaryOf)
        )
      })
    ),
    Effect.forkScoped
  )
  yield* TestClock.adjust(0)
  return { received: Effect.sync(() => frames.splice(0)) }
})

const failing: ChatError = InternalError.of("all down")

describe("AnswerStream", () => {
  it.effect("sends nothing before the first output, and no comment while output keeps coming", () =>
    Effect.gen(function* () {
      const items = paced([0, text("a")], [9, text("b")], [9, text("c")], [9, settled])
      const responding = yield* Effect.forkScoped(respond(Effect.delay(opened(items), "9 seconds"), options))
      yield* TestClock.adjust("8 seconds")
      assert.isUndefined(responding.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { received } = yield* listen(yield* Fiber.join(responding))
      assert.deepStrictEqual(yield* received, ["begins", "a"])
      yield* TestClock.adjust("27 seconds")
      assert.deepStrictEqual(yield* received, ["b", "c", "stop 7e-12", "data: [DONE]"])
    })
  )

  it.effect("answers a failure within the first ten seconds with its true status", () =>
    Effect.gen(function* () {
      const failed = Effect.delay(Effect.fail(failing), "9900 millis")
      const responding = yield* Effect.forkScoped(respond(failed, options))
      yield* TestClock.adjust("9900 millis")
      assert.deepStrictEqual(yield* Fiber.await(responding), Exit.fail(failing))
    })
  )

  it.effect("names adjusted parameters in a header, and where that went out too early, in the last chunk", () =>
    Effect.gen(function* () {
      const adjusted = ["temperature=1", "top_p=omitted"]
      const opening = Effect.map(packetsOfItems(Stream.make(text("a"), settled)), (items) => ({
        texts: AnswerStream.textsOf(items, encoderOf({ ...answerOf(items), adjustments: adjusted })),
        adjusted: adjusted.join(", ")
      }))
      for (const [seconds, header] of [
        [9, adjusted.join(", ")],
        [11, undefined]
      ] as const) {
        const responding = yield* Effect.forkScoped(respond(Effect.delay(opening, Duration.seconds(seconds)), options))
        yield* TestClock.adjust("11 seconds")
        const response = yield* Fiber.join(responding)
        assert.strictEqual(response.headers["x-svc-adjusted"], header)
        if (response.body._tag !== "Stream") return assert.fail("the response is no stream")
        const body = yield* response.body.stream.pipe(Stream.decodeText, Stream.mkString)
        const chunks = body.split("\n\n").filter((frame) => frame.startsWith("data: {"))
        const last = JSON.parse(chunks.at(-1)?.slice("data: ".length) ?? "")
        assert.deepStrictEqual(last.svc.adjusted, adjusted)
      }
    })
  )

  it.effect("begins the response after ten seconds of silence, and sends a comment every ten seconds", () =>
    Effect.gen(function* () {
      const items = paced([0, text("a")], [0, settled])
      const responding = yield* Effect.forkScoped(respond(Effect.delay(opened(items), "35 seconds"), options))
      yield* TestClock.adjust("10 seconds")
      const response = yield* Fiber.join(responding)
      assert.strictEqual(response.status, 200)
      const { received } = yield* listen(response)
      assert.deepStrictEqual(yield* received, [": keep-alive"])
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* received, [])
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(yield* received, [": keep-alive", ": keep-alive"])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* received, ["begins", "a", "stop 7e-12", "data: [DONE]"])
    })
  )

  it.effect("puts a failure into the stream once the response has begun", () =>
    Effect.gen(function* () {
      const responding = yield* Effect.forkScoped(respond(Effect.delay(Effect.fail(failing), "25 seconds"), options))
      yield* TestClock.adjust("10 seconds")
      const { received } = yield* listen(yield* Fiber.join(responding))
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* received, [
        ": keep-alive",
        ": keep-alive",
        "begins",
        "error internal_error 0",
        "data: [DONE]"
      ])
    })
  )

  it.effect("sends a comment on silence in the middle of a stream, counted from the last frame", () =>
    Effect.gen(function* () {
      const items = paced([0, text("a")], [8, text("b")], [21, settled])
      const { received } = yield* listen(yield* respond(opened(items), options))
      assert.deepStrictEqual(yield* received, ["begins", "a"])
      yield* TestClock.adjust("17 seconds")
      assert.deepStrictEqual(yield* received, ["b"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* received, [": keep-alive"])
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(yield* received, [": keep-alive", "stop 7e-12", "data: [DONE]"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* received, [])
    })
  )

  it.effect("sends nothing after the last frame, however late the client reads it", () =>
    Effect.gen(function* () {
      const { body } = yield* respond(opened(paced([0, text("a")], [1, settled])), options)
      if (body._tag !== "Stream") return assert.fail("the response is no stream")
      const reading = yield* body.stream.pipe(
        Stream.decodeText,
        Stream.tap(() => Effect.sleep("30 seconds")),
        Stream.mkString,
        Effect.forkScoped
      )
      yield* TestClock.adjust("5 minutes")
      assert.isTrue((yield* Fiber.join(reading)).endsWith("data: [DONE]\n\n"))
    })
  )

  it.effect(
    "begins no answer once the gateway drains: an error before the response has begun, an error chunk after",
    () =>
      Effect.gen(function* () {
        const early = yield* Effect.forkScoped(respond(Effect.never, { ...options, drainSignal: drainAfter(9) }))
        const late = yield* Effect.forkScoped(respond(Effect.never, { ...options, drainSignal: drainAfter(19) }))
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* Fiber.await(early), yield* Effect.exit(drainAfter(0)))
        const { received } = yield* listen(yield* Fiber.join(late))
        assert.deepStrictEqual(yield* received, [": keep-alive"])
        yield* TestClock.adjust("9 seconds")
        assert.deepStrictEqual(yield* received, ["begins", "error internal_error 0", "data: [DONE]"])
      })
  )

  for (const seconds of [5, 15])
    it.effect(`cancels the pending answer when the client leaves after ${seconds} seconds`, () =>
      Effect.gen(function* () {
        let cancelled = false
        const waiting = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (cancelled = true)))
        const request = yield* Scope.make()
        yield* Effect.forkScoped(Scope.provide(respond(waiting, options), request))
        yield* TestClock.adjust(Duration.seconds(seconds))
        assert.isFalse(cancelled)
        yield* Scope.close(request, Exit.void)
        assert.isTrue(cancelled)
      })
    )
})
