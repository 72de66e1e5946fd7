import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { modelId, organizationId } from "../../src/domain/Ids.ts"
import { type SessionPin, SessionPins } from "../../src/routing/SessionPins.ts"
import { describeOnEngines, layerUnreachable, whileLocked } from "../support/TestDatabase.ts"

const organization = organizationId("018f0000-0000-7000-8000-00000000000a")
const otherOrganization = organizationId("018f0000-0000-7000-8000-00000000000b")
const of = (session: string) => ({ organization, session })
const [mini, opus, haiku] = [modelId("gpt-5-mini"), modelId("claude-opus-4-5"), modelId("claude-haiku-4-5")]

/** The model of a pin, if there is one. */
const modelOf = (pin: Effect.Effect<Option.Option<SessionPin>>) =>
  Effect.map(
    pin,
    Option.map(({ model }) => model)
  )

describeOnEngines("SessionPins", (suite) => {
  suite.layer(SessionPins.layer)((it) => {
    it.effect("live for fifteen minutes after their last use", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        const session = of("sliding")
        yield* pins.pin(session, mini)
        for (const _ of [1, 2]) {
          yield* TestClock.adjust("14 minutes")
          assert.deepStrictEqual(yield* modelOf(pins.use(session)), Option.some(mini))
        }
        yield* TestClock.adjust("15 minutes")
        assert.deepStrictEqual(yield* modelOf(pins.use(session)), Option.none())
        assert.strictEqual(yield* pins.pin(session, opus), opus)
      })
    )

    it.effect("are separate for each organization", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        yield* pins.pin(of("shared name"), mini)
        assert.deepStrictEqual(
          yield* modelOf(pins.use({ organization: otherOrganization, session: "shared name" })),
          Option.none()
        )
      })
    )

    it.effect("are set by the first writer when several write at once", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        for (const round of Array.from({ length: 20 }, (_, index) => index)) {
          const session = of(`race ${round}`)
          const answers = yield* Effect.forEach([mini, opus, haiku], (model) => pins.pin(session, model), {
            concurrency: "unbounded"
          })
          assert.strictEqual(new Set(answers).size, 1)
          assert.deepStrictEqual(yield* modelOf(pins.use(session)), Option.fromUndefinedOr(answers[0]))
        }
      })
    )

    it.effect("are claims until the first answer, which decides where the session stays", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        for (const round of Array.from({ length: 20 }, (_, index) => index)) {
          const session = of(`confirmed ${round}`)
          yield* pins.pin(session, mini)
          assert.deepStrictEqual(yield* pins.use(session), Option.some({ model: mini, confirmed: false }))
          const answers = yield* Effect.forEach([opus, haiku], (model) => pins.confirm(session, model), {
            concurrency: "unbounded"
          })
          const [first = mini] = answers
          assert.strictEqual(answers[1], first)
          assert.notStrictEqual(first, mini)
          assert.deepStrictEqual(yield* pins.use(session), Option.some({ model: first, confirmed: true }))
          assert.strictEqual(yield* pins.pin(session, mini), first)
          assert.deepStrictEqual(yield* pins.use(session), Option.some({ model: first, confirmed: true }))
          yield* pins.move(session, { from: first, to: mini })
          assert.deepStrictEqual(yield* pins.use(session), Option.some({ model: mini, confirmed: false }))
        }
        const session = of("expired before it was confirmed")
        yield* pins.pin(session, mini)
        yield* pins.confirm(session, mini)
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(yield* pins.confirm(session, opus), opus)
      })
    )

    it.effect("move once when several move them at once", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        for (const round of Array.from({ length: 20 }, (_, index) => index)) {
          const session = of(`move ${round}`)
          yield* pins.pin(session, mini)
          const answers = yield* Effect.forEach([opus, haiku], (to) => pins.move(session, { from: mini, to }), {
            concurrency: "unbounded"
          })
          assert.strictEqual(answers[0], answers[1])
          assert.notStrictEqual(answers[0], mini)
          assert.deepStrictEqual(yield* modelOf(pins.use(session)), Option.fromUndefinedOr(answers[0]))
        }
      })
    )

    it.effect("move even if they have expired in the meantime", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        const session = of("expired before it moved")
        yield* pins.pin(session, mini)
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(yield* pins.move(session, { from: opus, to: haiku }), haiku)
      })
    )

    it.effect("are removed once they have expired, and not before", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        const sql = yield* SqlClient.SqlClient
        const left = sql<{ readonly model: string }>`SELECT model FROM session_pin`
        yield* sql`DELETE FROM session_pin`
        yield* sql`INSERT INTO session_pin (organization_id, session_sha256, model, expires_at)
          SELECT ${organization}, sha256(n::text::bytea), 'old', to_timestamp(0) FROM generate_series(1, 2500) AS n`
        yield* pins.pin(of("young"), mini)
        yield* TestClock.adjust("1 minute")
        const waitForSweep = left.pipe(Effect.repeat({ while: (rows) => rows.length > 1 }))
        assert.deepStrictEqual(yield* waitForSweep, [{ model: mini }])
      })
    )

    it.effect("never delay a request by more than three seconds", () =>
      Effect.gen(function* () {
        const pins = yield* SessionPins
        const session = of("locked")
        yield* pins.pin(session, mini)
        const calls = Effect.all([modelOf(pins.use(session)), pins.pin(session, opus)], { concurrency: "unbounded" })
        const answers = yield* whileLocked("session_pin", Effect.forkChild(calls), "3 seconds")
        assert.deepStrictEqual(yield* Fiber.join(answers), [Option.none(), opus])
      })
    )
  })
})

layer(SessionPins.layer.pipe(Layer.provide(layerUnreachable)))("SessionPins without a database", (it) => {
  it.effect("let every request continue", () =>
    Effect.gen(function* () {
      const pins = yield* SessionPins
      assert.deepStrictEqual(yield* modelOf(pins.use(of("any"))), Option.none())
      assert.strictEqual(yield* pins.pin(of("any"), mini), mini)
      assert.strictEqual(yield* pins.move(of("any"), { from: mini, to: opus }), opus)
    })
  )
})
