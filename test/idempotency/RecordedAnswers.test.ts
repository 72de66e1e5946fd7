import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { organizationId, requestId } from "../../src/domain/Ids.ts"
import {
  type Claim,
  type Conflict,
  type IdempotentRequest,
  maxRecordedBytes,
  type RecordedAnswer,
  type Replay
} from "../../src/idempotency/IdempotentRequest.ts"
import { RecordedAnswers } from "../../src/idempotency/RecordedAnswers.ts"
import { describeOnEngines, layerUnreachable, whileLocked } from "../support/TestDatabase.ts"

const organization = organizationId("018f0000-0000-7000-8000-00000000000a")
const bytes = (text: string) => new TextEncoder().encode(text)
const answer: RecordedAnswer = { contentType: "application/json", body: bytes(`{"said":"héllo \\u0000"}`) }

/** The id of the request with this number. */
const ids = (number: number) => requestId(`018f0000-0000-7000-9000-${String(number).padStart(12, "0")}`)

/** Requests with this key and body, by number. */
const requestsWith =
  (key: string, body = "body") =>
  (number: number): IdempotentRequest => ({
    organization,
    endpoint: "chat.completions",
    key,
    body: bytes(body),
    request: ids(number)
  })

/** Asks for a claim, and gets a claim, a replay or a conflict. */
const ask = Effect.fnUntraced(function* (request: IdempotentRequest) {
  return yield* (yield* RecordedAnswers).claim(request)
})

/** Asks for a claim, and fails the test on anything else. */
const claim = Effect.fnUntraced(function* (request: IdempotentRequest) {
  const result = yield* ask(request)
  return result._tag === "Claim" ? result : assert.fail(`${result._tag} instead of a claim`)
})

/** Claims the key and closes the scope of the claim without an outcome. Returns the id to answer under. */
const claimAndRelease = (request: IdempotentRequest) =>
  Effect.scoped(Effect.map(claim(request), (claimed) => claimed.request))

/** The replayed answer, or what was returned instead of one. */
const replayIn = (result: Claim | Replay | Conflict): unknown =>
  result._tag === "Replay" ? { ...result.answer, body: new Uint8Array(result.answer.body) } : result._tag

/** The reason of a conflict, or what was returned instead of one. */
const conflictIn = (result: Claim | Replay | Conflict): string =>
  result._tag === "Conflict" ? result.reason : result._tag

const recorded = { contentType: answer.contentType, body: answer.body }

/** Moves the clock second by second, and lets the database answer in between, for as long as that takes. */
const passTime = Effect.fnUntraced(function* (duration: Duration.Input) {
  const sql = yield* SqlClient.SqlClient
  const busy = sql`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Lock'
      AND pid <> pg_backend_pid()`
  for (let seconds = Duration.toSeconds(duration); seconds > 0; seconds--) {
    yield* TestClock.adjust("1 second")
    // The first statement may come before those of the fibers that the clock has woken.
    yield* sql`SELECT 1`
    yield* Effect.repeat(busy, { until: (statements) => statements.length === 0 })
    yield* TestClock.withLive(Effect.sleep("1 millis"))
  }
})

/** Asks in the background, and asks again if the virtual time has moved past the timeout of the database. */
const waitFor = (request: IdempotentRequest) => Effect.forkChild(Effect.retry(ask(request), { times: 1_000 }))

/** How many seconds pass until the fiber ends. */
const secondsUntil = Effect.fnUntraced(function* (waiting: Fiber.Fiber<unknown, unknown>) {
  let seconds = 0
  for (; waiting.pollUnsafe() === undefined; seconds++) yield* passTime("1 second")
  return seconds
})

/** Makes it look as if the gateway with the claim had died: the claim is no longer renewed. */
const killOwner = (key: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE recorded_answer SET claimed_by = ${ids(0)} WHERE key = ${key}`
  )

describeOnEngines("RecordedAnswers", (suite) => {
  suite.layer(RecordedAnswers.layer)((it) => {
    it.effect("are replayed for a day, byte by byte", () =>
      Effect.gen(function* () {
        const requests = requestsWith("a day")
        yield* Effect.scoped(Effect.flatMap(claim(requests(1)), ({ end }) => end(answer)))
        for (const hours of [0, 23]) {
          yield* TestClock.adjust(Duration.hours(hours))
          assert.deepStrictEqual(replayIn(yield* ask(requests(2))), recorded)
        }
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* claimAndRelease(requests(3)), ids(3))
      })
    )

    it.effect("belong to one organization, endpoint, key and body", () =>
      Effect.gen(function* () {
        const requests = requestsWith("scope")
        yield* Effect.flatMap(claim(requests(1)), ({ end }) => end(answer))
        const others: ReadonlyArray<IdempotentRequest> = [
          { ...requests(2), organization: organizationId("018f0000-0000-7000-8000-00000000000b") },
          { ...requests(3), endpoint: "audio.transcriptions" },
          { ...requests(4), key: "scopes" }
        ]
        for (const other of others) assert.strictEqual(yield* claimAndRelease(other), other.request)
        assert.strictEqual(conflictIn(yield* ask({ ...requests(5), body: bytes("bodY") })), "different_body")
      })
    )

    it.effect("are not recorded beyond the size limit, but the conflict names the request that was charged", () =>
      Effect.gen(function* () {
        const largest = { ...answer, body: new Uint8Array(maxRecordedBytes) }
        const larger = { ...answer, body: new Uint8Array(maxRecordedBytes + 1) }
        yield* Effect.flatMap(claim(requestsWith("largest")(1)), ({ end }) => end(largest))
        yield* Effect.flatMap(claim(requestsWith("larger")(2)), ({ end }) => end(larger))
        yield* Effect.flatMap(claim(requestsWith("left")(3)), ({ end }) => end("client_left"))
        assert.strictEqual((yield* ask(requestsWith("largest")(4)))._tag, "Replay")
        assert.deepStrictEqual(yield* ask(requestsWith("larger")(4)), {
          _tag: "Conflict",
          reason: "too_large",
          request: ids(2)
        })
        assert.deepStrictEqual(yield* ask(requestsWith("left")(4)), {
          _tag: "Conflict",
          reason: "client_left",
          request: ids(3)
        })
      })
    )

    it.effect("are made again under a new id when the request before failed", () =>
      Effect.gen(function* () {
        const requests = requestsWith("failed")
        yield* Effect.scoped(Effect.flatMap(claim(requests(1)), ({ end }) => end("failed")))
        assert.strictEqual(yield* claimAndRelease(requestsWith("failed", "other body")(2)), ids(2))
      })
    )

    it.effect("keep their request id for as long as it is not known whether it was charged", () =>
      Effect.gen(function* () {
        const requests = requestsWith("unknown outcome")
        assert.strictEqual(yield* claimAndRelease(requests(1)), ids(1))
        assert.strictEqual(yield* claimAndRelease(requests(2)), ids(1))
        assert.strictEqual(conflictIn(yield* ask(requestsWith("unknown outcome", "other body")(3))), "different_body")
        yield* Effect.scoped(Effect.flatMap(claim(requests(4)), ({ end }) => end("failed")))
        const last = yield* claim(requests(5))
        assert.strictEqual(last.request, ids(1))
        yield* last.end(answer)
        assert.deepStrictEqual(replayIn(yield* ask(requests(6))), recorded)
      })
    )

    it.effect("are made again under the same id, thirty seconds after their gateway died", () =>
      Effect.gen(function* () {
        const requests = requestsWith("crash")
        const dead = yield* claim(requests(1))
        yield* killOwner("crash")
        const waiting = yield* waitFor(requests(2))
        const seconds = yield* secondsUntil(waiting)
        assert.isTrue(seconds >= 30 && seconds < 40, `${seconds} seconds`)
        const successor = yield* Fiber.join(waiting)
        if (successor._tag !== "Claim") return assert.fail(successor._tag)
        assert.strictEqual(successor.request, ids(1))
        // If the gateway was only slow, its outcome comes too late.
        yield* dead.end("client_left")
        yield* successor.end(answer)
        yield* dead.end("failed")
        assert.deepStrictEqual(replayIn(yield* ask(requests(3))), recorded)
      })
    )

    it.effect("are waited for while their gateway is alive", () =>
      Effect.gen(function* () {
        const requests = requestsWith("long")
        const { end } = yield* claim(requests(1))
        const waiting = yield* waitFor(requests(2))
        // Three times as long as a claim lasts without being renewed.
        yield* passTime("90 seconds")
        assert.isUndefined(waiting.pollUnsafe())
        yield* end(answer)
        yield* secondsUntil(waiting)
        assert.deepStrictEqual(replayIn(yield* Fiber.join(waiting)), recorded)
      })
    )

    it.effect("are waited for at most fifteen minutes", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* claim(requestsWith("longer")(1))
        yield* sql`UPDATE recorded_answer SET claimed_until = 'infinity' WHERE key = 'longer'`
        yield* killOwner("longer")
        const waiting = yield* waitFor(requestsWith("longer")(2))
        assert.isAtLeast(yield* secondsUntil(waiting), 15 * 60)
        assert.deepStrictEqual(yield* Fiber.join(waiting), { _tag: "Conflict", reason: "in_flight" })
      })
    )

    it.effect("are claimed by one of several concurrent requests at a time", () =>
      Effect.gen(function* () {
        const requests = requestsWith("concurrent")
        let inFlight = 0
        const attempts = Effect.forEach(
          [1, 2, 3, 4, 5, 6, 7, 8],
          (number) =>
            Effect.scoped(
              Effect.gen(function* () {
                const result = yield* ask(requests(number))
                if (result._tag !== "Claim") return result._tag
                assert.strictEqual(++inFlight, 1)
                yield* Effect.sleep("1 second")
                inFlight--
                yield* result.end(number === 1 ? "failed" : answer)
                return result._tag
              })
            ),
          { concurrency: "unbounded" }
        )
        const running = yield* Effect.forkChild(attempts)
        yield* secondsUntil(running)
        const tags = yield* Fiber.join(running)
        assert.isAtMost(tags.filter((tag) => tag === "Claim").length, 2)
        assert.isAtLeast(tags.filter((tag) => tag === "Replay").length, 6)
      })
    )

    it.effect("leave no claim behind when a request is interrupted", () =>
      Effect.gen(function* () {
        const requests = requestsWith("interrupted")
        for (let number = 1; number < 20; number++) {
          const scope = yield* Scope.make()
          const asking = yield* Effect.forkChild(Scope.provide(ask(requests(number)), scope))
          for (let step = 0; step < number; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(asking)
          yield* Scope.close(scope, Exit.void)
        }
        // No request has the claim, so the next one gets it at once.
        yield* claimAndRelease(requests(20))
      })
    )

    it.effect("are deleted once they have expired, and not before", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`DELETE FROM recorded_answer`
        yield* sql`INSERT INTO recorded_answer
            (organization_id, endpoint, key, body_sha256, request_id, claimed_by, claimed_until, expires_at)
          SELECT ${organization}, 'chat.completions', n::text, sha256('x'), ${ids(1)}, ${ids(1)}, now(), to_timestamp(0)
          FROM generate_series(1, 250) AS n`
        yield* Effect.flatMap(claim(requestsWith("young")(1)), ({ end }) => end(answer))
        yield* TestClock.adjust("1 minute")
        const left = sql<{ readonly key: string }>`SELECT key FROM recorded_answer`
        assert.deepStrictEqual(yield* Effect.repeat(left, { while: (rows) => rows.length > 1 }), [{ key: "young" }])
      })
    )

    it.effect("are refused after five seconds if the database does not answer", () =>
      Effect.gen(function* () {
        const asking = Effect.forkChild(Effect.flip(ask(requestsWith("locked")(1))))
        const refused = yield* whileLocked("recorded_answer", asking, "5 seconds")
        assert.strictEqual((yield* Fiber.join(refused))._tag, "RecordedAnswersError")
      })
    )

    it.effect("delay their client by at most two seconds when they cannot be stored", () =>
      Effect.gen(function* () {
        const { end } = yield* claim(requestsWith("cannot be stored")(1))
        const ending = yield* whileLocked("recorded_answer", Effect.forkChild(end(answer)), "2 seconds")
        yield* Fiber.join(ending)
      })
    )
  })
})

layer(RecordedAnswers.layer.pipe(Layer.provide(layerUnreachable)))("RecordedAnswers without a database", (it) => {
  it.effect("are refused", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(ask(requestsWith("any")(1))))._tag, "RecordedAnswersError")
    })
  )
})
