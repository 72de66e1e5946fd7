import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { organizationId, requestId } from "../../src/domain/Ids.ts"
import {
  type RecordedAnswer,
  type ClaimResult,
  maxRecordedBytes,
  type IdempotentRequest,
  RecordedAnswers
} from "../../src/idempotency/RecordedAnswers.ts"
import { describeOnEngines, layerUnreachable, whileLocked } from "../support/TestDatabase.ts"

const organization = organizationId("018f0000-0000-7000-8000-00000000000a")
const bytes = (text: string) => new TextEncoder().encode(text)
const answer: RecordedAnswer = { contentType: "application/json", body: bytes(`{"said":"héllo \\u0000"}`) }

/** The request with this number. */
const ids = (number: number) => requestId(`018f0000-0000-7000-9000-${String(number).padStart(12, "0")}`)

const about =
  (key: string, body = "body") =>
  (number: number): IdempotentRequest => ({
    organization,
    endpoint: "chat.completions",
    key,
    body: bytes(body),
    request: ids(number)
  })

const ask = Effect.fnUntraced(function* (question: IdempotentRequest) {
  return yield* (yield* RecordedAnswers).claim(question)
})

const claim = Effect.fnUntraced(function* (question: IdempotentRequest) {
  const known = yield* ask(question)
  return known._tag === "Claimed" ? known : assert.fail(`${known._tag} instead of a claim`)
})

/** Claims, and lets go without an end. */
const attempt = (question: IdempotentRequest) => Effect.scoped(Effect.map(claim(question), ({ request }) => request))

const told = (known: ClaimResult): unknown =>
  known._tag === "Answered" ? { ...known.answer, body: new Uint8Array(known.answer.body) } : known._tag

const recorded = { contentType: answer.contentType, body: answer.body }

/** Lets time pass second by second, and the database answer in between. */
const pass = Effect.fnUntraced(function* (duration: Duration.Input) {
  const sql = yield* SqlClient.SqlClient
  for (let seconds = Duration.toSeconds(duration); seconds > 0; seconds--) {
    yield* TestClock.adjust("1 second")
    yield* sql`SELECT 1`
    yield* TestClock.withLive(Effect.sleep("1 millis"))
  }
})

/** Asks in the background, and again when virtual time has outrun the database. */
const waitFor = (question: IdempotentRequest) => Effect.forkChild(Effect.retry(ask(question), { times: 1_000 }))

/** How many seconds pass until it is done. */
const secondsUntil = Effect.fnUntraced(function* (waiting: Fiber.Fiber<unknown, unknown>) {
  let seconds = 0
  for (; waiting.pollUnsafe() === undefined; seconds++) yield* pass("1 second")
  return seconds
})

/** As if the gateway that has the claim had died: it does not renew it any more. */
const killOwner = (key: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE recorded_answer SET claimed_by = ${ids(0)} WHERE key = ${key}`
  )

describeOnEngines("RecordedAnswers", (suite) => {
  suite.layer(RecordedAnswers.layerSql)((it) => {
    it.effect("are told for a day, to the byte", () =>
      Effect.gen(function* () {
        const question = about("a day")
        yield* Effect.scoped(Effect.flatMap(claim(question(1)), ({ end }) => end(answer)))
        for (const hours of [0, 23]) {
          yield* TestClock.adjust(Duration.hours(hours))
          assert.deepStrictEqual(told(yield* ask(question(2))), recorded)
        }
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* attempt(question(3)), ids(3))
      })
    )

    it.effect("belong to one organization, endpoint, key and body", () =>
      Effect.gen(function* () {
        const question = about("scope")
        yield* Effect.flatMap(claim(question(1)), ({ end }) => end(answer))
        const others: ReadonlyArray<IdempotentRequest> = [
          { ...question(2), organization: organizationId("018f0000-0000-7000-8000-00000000000b") },
          { ...question(3), endpoint: "audio.transcriptions" },
          { ...question(4), key: "scopes" }
        ]
        for (const other of others) assert.strictEqual(yield* attempt(other), other.request)
        assert.strictEqual((yield* ask({ ...question(5), body: bytes("bodY") }))._tag, "OtherBody")
      })
    )

    it.effect("are not kept beyond the bound, but known to have been", () =>
      Effect.gen(function* () {
        const largest = { ...answer, body: new Uint8Array(maxRecordedBytes) }
        const larger = { ...answer, body: new Uint8Array(maxRecordedBytes + 1) }
        yield* Effect.flatMap(claim(about("largest")(1)), ({ end }) => end(largest))
        yield* Effect.flatMap(claim(about("larger")(2)), ({ end }) => end(larger))
        yield* Effect.flatMap(claim(about("left")(3)), ({ end }) => end("client_left"))
        assert.strictEqual((yield* ask(about("largest")(4)))._tag, "Answered")
        assert.deepStrictEqual(yield* ask(about("larger")(4)), { _tag: "Gone", request: ids(2), because: "too_large" })
        assert.deepStrictEqual(yield* ask(about("left")(4)), { _tag: "Gone", request: ids(3), because: "client_left" })
      })
    )

    it.effect("are asked for anew under an id of their own when the attempt before failed", () =>
      Effect.gen(function* () {
        const question = about("failed")
        yield* Effect.scoped(Effect.flatMap(claim(question(1)), ({ end }) => end("failed")))
        assert.strictEqual(yield* attempt(about("failed", "other body")(2)), ids(2))
      })
    )

    it.effect("keep their request id for as long as nobody knows whether it was charged", () =>
      Effect.gen(function* () {
        const question = about("unknown end")
        assert.strictEqual(yield* attempt(question(1)), ids(1))
        assert.strictEqual(yield* attempt(question(2)), ids(1))
        assert.strictEqual((yield* ask(about("unknown end", "other body")(3)))._tag, "OtherBody")
        yield* Effect.scoped(Effect.flatMap(claim(question(4)), ({ end }) => end("failed")))
        const last = yield* claim(question(5))
        assert.strictEqual(last.request, ids(1))
        yield* last.end(answer)
        assert.deepStrictEqual(told(yield* ask(question(6))), recorded)
      })
    )

    it.effect("of a gateway that died are taken over after thirty seconds, under the same id", () =>
      Effect.gen(function* () {
        const question = about("crash")
        const dead = yield* claim(question(1))
        yield* killOwner("crash")
        const waiting = yield* waitFor(question(2))
        const seconds = yield* secondsUntil(waiting)
        assert.isTrue(seconds >= 30 && seconds < 40, `${seconds} seconds`)
        const heir = yield* Fiber.join(waiting)
        if (heir._tag !== "Claimed") return assert.fail(heir._tag)
        assert.strictEqual(heir.request, ids(1))
        // It was only slow: what it says now comes too late.
        yield* dead.end("client_left")
        yield* heir.end(answer)
        yield* dead.end("failed")
        assert.deepStrictEqual(told(yield* ask(question(3))), recorded)
      })
    )

    it.effect("are waited for while their gateway lives", () =>
      Effect.gen(function* () {
        const question = about("long")
        const { end } = yield* claim(question(1))
        const waiting = yield* waitFor(question(2))
        // Three times as long as a claim lasts that nobody renews.
        yield* pass("90 seconds")
        assert.isUndefined(waiting.pollUnsafe())
        yield* end(answer)
        yield* secondsUntil(waiting)
        assert.deepStrictEqual(told(yield* Fiber.join(waiting)), recorded)
      })
    )

    it.effect("are waited for fifteen minutes at most", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* claim(about("longer")(1))
        yield* sql`UPDATE recorded_answer SET claimed_until = 'infinity' WHERE key = 'longer'`
        yield* killOwner("longer")
        const waiting = yield* waitFor(about("longer")(2))
        assert.isAtLeast(yield* secondsUntil(waiting), 15 * 60)
        assert.deepStrictEqual(yield* Fiber.join(waiting), { _tag: "InFlight" })
      })
    )

    it.effect("are claimed by one of all who ask at once, then by the next", () =>
      Effect.gen(function* () {
        const question = about("crowd")
        let inFlight = 0
        const attempts = Effect.forEach(
          [1, 2, 3, 4, 5, 6, 7, 8],
          (number) =>
            Effect.scoped(
              Effect.gen(function* () {
                const known = yield* ask(question(number))
                if (known._tag !== "Claimed") return known._tag
                assert.strictEqual(++inFlight, 1)
                yield* Effect.sleep("1 second")
                inFlight--
                yield* known.end(number === 1 ? "failed" : answer)
                return known._tag
              })
            ),
          { concurrency: "unbounded" }
        )
        const running = yield* Effect.forkChild(attempts)
        yield* secondsUntil(running)
        const tags = yield* Fiber.join(running)
        assert.isAtMost(tags.filter((tag) => tag === "Claimed").length, 2)
        assert.isAtLeast(tags.filter((tag) => tag === "Answered").length, 6)
      })
    )

    it.effect("leave no claim behind when the one who asks is interrupted", () =>
      Effect.gen(function* () {
        const question = about("interrupted")
        for (let number = 1; number < 20; number++) {
          const scope = yield* Scope.make()
          const asking = yield* Effect.forkChild(Scope.provide(ask(question(number)), scope))
          for (let step = 0; step < number; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(asking)
          yield* Scope.close(scope, Exit.void)
        }
        // Nobody has it: it is claimed at the first look.
        yield* attempt(question(20))
      })
    )

    it.effect("are swept when they have expired, and only then", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`DELETE FROM recorded_answer`
        yield* sql`INSERT INTO recorded_answer
            (organization_id, endpoint, key, body_sha256, request_id, claimed_by, claimed_until, expires_at)
          SELECT ${organization}, 'chat.completions', n::text, sha256('x'), ${ids(1)}, ${ids(1)}, now(), to_timestamp(0)
          FROM generate_series(1, 250) AS n`
        yield* Effect.flatMap(claim(about("young")(1)), ({ end }) => end(answer))
        yield* TestClock.adjust("1 minute")
        const left = sql<{ readonly key: string }>`SELECT key FROM recorded_answer`
        assert.deepStrictEqual(yield* Effect.repeat(left, { while: (rows) => rows.length > 1 }), [{ key: "young" }])
      })
    )

    it.effect("are refused after five seconds when the database does not answer", () =>
      Effect.gen(function* () {
        const asking = Effect.forkChild(Effect.flip(ask(about("locked")(1))))
        const refused = yield* whileLocked("recorded_answer", asking, "5 seconds")
        assert.strictEqual((yield* Fiber.join(refused))._tag, "RecordedAnswersError")
      })
    )

    it.effect("that cannot be stored keep nobody waiting for more than two seconds", () =>
      Effect.gen(function* () {
        const { end } = yield* claim(about("cannot be stored")(1))
        const ending = yield* whileLocked("recorded_answer", Effect.forkChild(end(answer)), "2 seconds")
        yield* Fiber.join(ending)
      })
    )
  })
})

layer(RecordedAnswers.layerSql.pipe(Layer.provide(layerUnreachable)))("RecordedAnswers without a database", (it) => {
  it.effect("are refused", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(ask(about("any")(1))))._tag, "RecordedAnswersError")
    })
  )
})
