import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, Scope, Stream } from "effect"
import { HttpServerError } from "effect/http"

import { InternalError } from "../../src/api/Errors.ts"
import type { CompletionEvent } from "../../src/domain/Completion.ts"
import { broken, type Failure } from "../../src/domain/Failure.ts"
import { usageBounds } from "../../src/domain/Usage.ts"
import { Meter } from "../../src/gateway/Meter.ts"
import { ReceiptDraft } from "../../src/gateway/ReceiptDraft.ts"
import { meteredStream } from "../../src/gateway/Settlement.ts"
import { drainSignalOf, packetsOfEvents, streamOfItems } from "../support/Packets.ts"
import { callOf, finish, holdOf, request, targetOf, text, usage } from "./calls.ts"

const stopped = Cause.interrupt(1)
/** The cause that the server reports when a client disconnects. */
const left = Cause.annotate(stopped, HttpServerError.ClientAbort.annotation)

/** Reads up to `take` items of a metered stream and closes its scope, by default as when the client disconnects. */
const read = Effect.fnUntraced(function* (
  events: Stream.Stream<CompletionEvent, Failure>,
  options: {
    readonly take?: number
    readonly held?: bigint
    readonly end?: Cause.Cause<never>
    readonly drainSignal?: Effect.Effect<never, InternalError>
  } = {}
) {
  const target = targetOf("m")
  const { charges, hold } = holdOf(options.held ?? 1_000_000n)
  const receipt = new ReceiptDraft({ ...callOf(), stream: true }, "v1", 0, () => Effect.void)
  const answer = { target, attempts: [], value: yield* packetsOfEvents(events) }
  receipt.recordAnswer(answer, 5)
  const bounds = usageBounds({ promptTokens: 40, maxOutputTokens: 1_000 })
  const meter = new Meter({ request, promptTokens: 40, outputLimit: 100, bounds })
  const scope = yield* Scope.make()
  const stream = yield* Scope.provide(
    meteredStream({ answer, meter, hold, receipt }, yield* drainSignalOf(options.drainSignal ?? Effect.never)),
    scope
  )
  const items = yield* Stream.runCollect(Stream.take(streamOfItems(stream), options.take ?? Infinity))
  const before = [...charges]
  yield* Scope.close(scope, Exit.failCause(options.end ?? left))
  const { cost, outcome, providerCost, usage } = receipt.toReceipt(9)
  return { types: items.map(({ type }) => type), items, before, charges, cost, outcome, providerCost, usage }
})

const whole = [text("one two"), usage({ input: 10, output: 4 }), finish]

describe("Settlement of a stream", () => {
  it.effect("charges a complete answer once, before its last item", () =>
    Effect.gen(function* () {
      const seen = yield* read(Stream.fromIterable(whole))
      assert.deepStrictEqual(seen.types, ["text", "settled"])
      assert.deepStrictEqual([seen.before, seen.charges], [[60n], [60n]])
      assert.deepStrictEqual([seen.outcome, seen.cost], ["completed", 60n])
    })
  )

  it.effect("charges nothing to a client that left before any output was read", () =>
    Effect.gen(function* () {
      const seen = yield* read(Stream.fromIterable(whole), { take: 0 })
      assert.deepStrictEqual([seen.charges, seen.outcome, seen.cost], [[], "client_left", 0n])
      assert.isUndefined(seen.usage)
    })
  )

  it.effect("charges a client that left in the middle for what was delivered to it", () =>
    Effect.gen(function* () {
      const events = Stream.concat(Stream.succeed(text("one two three")), Stream.never)
      const seen = yield* read(events, { take: 1 })
      assert.deepStrictEqual([seen.before, seen.charges], [[], [110n]])
      assert.deepStrictEqual([seen.outcome, seen.cost], ["client_left", 110n])
    })
  )

  const ends = {
    "is cut off by the gateway": stopped,
    "is cut off by the gateway, which closes the client's socket,": Cause.combine(stopped, left),
    "fails with a defect": Cause.die(new Error("a bug"))
  }
  for (const [how, end] of Object.entries(ends))
    it.effect(`charges nothing for a stream that ${how} in the middle`, () =>
      Effect.gen(function* () {
        const events = Stream.concat(Stream.succeed(text("one two three")), Stream.never)
        const seen = yield* read(events, { take: 1, end })
        assert.deepStrictEqual([seen.charges, seen.cost], [[], 0n])
      })
    )

  it.effect("never charges a client that left more than was held", () =>
    Effect.gen(function* () {
      const events = Stream.concat(Stream.succeed(text("one two three")), Stream.never)
      const seen = yield* read(events, { take: 1, held: 50n })
      assert.deepStrictEqual([seen.charges, seen.cost], [[50n], 50n])
    })
  )

  it.effect("charges a complete answer in full, even beyond the hold", () =>
    Effect.gen(function* () {
      const seen = yield* read(Stream.fromIterable(whole), { held: 50n })
      assert.deepStrictEqual(seen.charges, [60n])
    })
  )

  const faults = { "a failure of the provider": Effect.fail(broken("cut")), "a defect": Effect.die(new Error("a bug")) }
  for (const [what, fault] of Object.entries(faults))
    it.effect(`ends with an error and charges nothing after ${what}`, () =>
      Effect.gen(function* () {
        const events = Stream.concat(Stream.fromIterable([text("one"), usage({ input: 10 })]), Stream.fromEffect(fault))
        const seen = yield* read(events)
        assert.deepStrictEqual(seen.types, ["text", "broken"])
        const last = seen.items.at(-1)
        assert.strictEqual(last?.type === "broken" ? last.error.error.code : "", "internal_error")
        assert.deepStrictEqual([seen.charges, seen.outcome, seen.cost], [[], "broken", 0n])
      }).pipe(Effect.provide(Logger.layer([])))
    )

  const uncharged: Record<
    string,
    readonly [events: Stream.Stream<CompletionEvent, Failure>, cost: bigint | undefined]
  > = {
    "what the provider reported": [Stream.fromIterable([text("one"), usage({ input: 10, output: 4 })]), 60n],
    "nothing where it reported nothing": [Stream.fromIterable([text("one")]), undefined],
    "nothing where that cannot be right": [Stream.fromIterable([text("one"), usage({ output: 1_001 })]), undefined]
  }
  for (const [what, [events, expected]] of Object.entries(uncharged))
    it.effect(`keeps ${what} of an answer that broke and is not charged`, () =>
      Effect.gen(function* () {
        const cut = Effect.fail(broken("cut"))
        const seen = yield* read(Stream.concat(events, Stream.fromEffect(cut)))
        assert.deepStrictEqual([seen.charges, seen.cost, seen.providerCost], [[], 0n, expected])
      })
    )

  it.effect("keeps what the provider bills beyond the hold of a client that left", () =>
    Effect.gen(function* () {
      const events = Stream.concat(Stream.succeed(text("one two three")), Stream.never)
      const seen = yield* read(events, { take: 1, held: 50n })
      assert.deepStrictEqual([seen.cost, seen.providerCost], [50n, 110n])
    })
  )

  it.effect("ends once, and is charged only if it ends completely, at whatever moment the gateway drains", () =>
    Effect.gen(function* () {
      const ends: Array<string | undefined> = []
      for (let turns = 0; turns < 40; turns++) {
        const drainSignal = Effect.andThen(
          Effect.repeat(Effect.yieldNow, { times: turns }),
          Effect.fail(InternalError.of("The gateway was stopped"))
        )
        const events = Stream.tap(Stream.rechunk(Stream.fromIterable(whole), 1), () => Effect.yieldNow)
        const { charges, outcome, types } = yield* read(events, { drainSignal })
        const end = types.at(-1)
        assert.deepStrictEqual(
          types.filter((type) => type !== "text"),
          [end]
        )
        assert.deepStrictEqual([charges, outcome], end === "settled" ? [[60n], "completed"] : [[], "broken"])
        ends.push(end)
      }
      assert.sameMembers([...new Set(ends)], ["broken", "settled"])
    })
  )
})
