import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"

import { organizationId } from "../../../src/domain/Ids.ts"
import { makeUploadSlots, maxSlotWait, reservedSlots, type UploadSlots } from "../../../src/http/audio/UploadSlots.ts"

const idOf = (organization: number) => organizationId(`00000000-0000-7000-8000-00000000000${organization}`)

/** Uploads under a test's control: each holds its slot until it is ended. */
const uploadsIn = (slots: UploadSlots) => {
  const begun: Array<number> = []
  const refused: Array<number> = []
  const running: Array<{ readonly end: Deferred.Deferred<void>; readonly fiber: Fiber.Fiber<unknown, unknown> }> = []
  return {
    /** The numbers of the uploads that got a slot, in the order in which they got it. */
    begun,
    refused,
    /** Begins upload number `running.length`. */
    arrive: Effect.fnUntraced(function* (organization: number) {
      const number = running.length
      const end = yield* Deferred.make<void>()
      const work = Effect.andThen(
        Effect.sync(() => begun.push(number)),
        Deferred.await(end)
      )
      const fiber = yield* slots.withSlot(idOf(organization), work).pipe(
        Effect.catchTag("RateLimitExceeded", () => Effect.sync(() => refused.push(number))),
        Effect.forkChild({ startImmediately: true })
      )
      running.push({ end, fiber })
    }),
    /** Ends an upload that has a slot; one that waits leaves. */
    end: (number: number) =>
      Effect.suspend(() => {
        const upload = running[number]
        if (upload === undefined) return Effect.void
        return begun.includes(number)
          ? Effect.andThen(Deferred.succeed(upload.end, undefined), Fiber.await(upload.fiber))
          : Fiber.interrupt(upload.fiber)
      }),
    count: () => running.length,
    leave: (number: number) =>
      Effect.suspend(() => {
        const upload = running[number]
        return upload === undefined ? Effect.void : Fiber.interrupt(upload.fiber)
      })
  }
}

interface Upload {
  readonly number: number
  readonly organization: number
  readonly until: number
}

/** The rules, written down as simply as possible: lists of what waits and what is held, searched anew at every step. */
class Model {
  readonly begun: Array<number> = []
  readonly refused: Array<number> = []
  private readonly capacity: number
  private now = 0
  private count = 0
  private waiting: ReadonlyArray<Upload> = []
  private held: ReadonlyArray<Upload> = []
  /** The events that decide between equals: an organization arrives with nothing, or is given a slot. */
  private readonly order: Array<number> = []

  constructor(capacity: number) {
    this.capacity = capacity
  }

  arrive(organization: number): void {
    if (this.of(organization, this.active()) === 0) this.order.push(organization)
    const number = this.count++
    this.waiting = [...this.waiting, { number, organization, until: this.now + Duration.toMillis(maxSlotWait) }]
    this.grant()
    if (this.of(organization, this.waiting) > this.capacity) this.refuse(number)
  }

  /** An upload ends, or its client leaves. */
  end(number: number): void {
    this.waiting = this.waiting.filter((upload) => upload.number !== number)
    this.held = this.held.filter((upload) => upload.number !== number)
    this.grant()
  }

  pass(millis: number): void {
    this.now += millis
    for (const { number, until } of this.waiting) if (until <= this.now) this.refuse(number)
  }

  active(): ReadonlyArray<Upload> {
    return [...this.held, ...this.waiting]
  }

  get free(): number {
    return this.capacity - this.held.length
  }

  private of(organization: number, uploads: ReadonlyArray<Upload>): number {
    return uploads.filter((upload) => upload.organization === organization).length
  }

  private refuse(number: number): void {
    this.waiting = this.waiting.filter((upload) => upload.number !== number)
    this.refused.push(number)
  }

  private grant(): void {
    const [next] = this.waiting
      .map((upload) => ({ upload, share: this.of(upload.organization, this.held) }))
      .filter(({ share }) => this.free > (share === 0 ? 0 : reservedSlots(this.capacity)))
      .sort(
        (a, b) =>
          a.share - b.share ||
          this.order.lastIndexOf(a.upload.organization) - this.order.lastIndexOf(b.upload.organization) ||
          a.upload.number - b.upload.number
      )
    if (next === undefined) return
    this.waiting = this.waiting.filter((upload) => upload !== next.upload)
    this.held = [...this.held, next.upload]
    this.begun.push(next.upload.number)
    this.order.push(next.upload.organization)
    this.grant()
  }
}

const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))

// The first organization has more clients than the others.
const Arrive = Schema.Struct({ type: Schema.Literal("arrive"), organization: Schema.Literals([0, 0, 0, 1, 1, 2, 3]) })
const End = Schema.Struct({ type: Schema.Literals(["end", "leave"]), at: Index })
const Pass = Schema.Struct({ type: Schema.Literal("pass"), millis: Schema.Literals([100, 2_500, 5_000, 10_000]) })

/** Many of these begin with a queue. */
const Rounds = Schema.Array(
  Schema.Struct({
    arrivals: Schema.Array(Arrive),
    ends: Schema.Array(End),
    others: Schema.Array(Schema.Union([Arrive, End, Pass]))
  })
)

describe("Slots for uploads", () => {
  it.effect.prop(
    "are given as the rules say, whoever arrives, ends, leaves or waits, and are all free afterwards",
    { capacity: Schema.Literals([1, 2, 3, 8, 12]), rounds: Rounds },
    ({ capacity, rounds }) =>
      Effect.gen(function* () {
        const slots = makeUploadSlots(capacity)
        const uploads = uploadsIn(slots)
        const model = new Model(capacity)
        for (const command of rounds.flatMap(({ arrivals, ends, others }) => [...arrivals, ...ends, ...others])) {
          if (command.type === "arrive") {
            yield* uploads.arrive(command.organization)
            model.arrive(command.organization)
          } else if (command.type === "pass") {
            yield* TestClock.adjust(command.millis)
            model.pass(command.millis)
          } else {
            const active = model.active()
            const { number } = active[command.at % Math.max(1, active.length)] ?? { number: -1 }
            yield* uploads[command.type](number)
            model.end(number)
          }
          yield* TestClock.adjust(0)
          assert.deepStrictEqual([uploads.begun, uploads.refused], [model.begun, model.refused])
          assert.strictEqual(slots.organizations(), new Set(model.active().map((upload) => upload.organization)).size)
          assert.isAtLeast(model.free, 0)
        }
        for (let number = 0; number < uploads.count(); number++) yield* uploads.leave(number)
        assert.strictEqual(slots.organizations(), 0)
      }),
    { arbitrary: { runs: 300 } }
  )

  const arrivals = (uploads: ReturnType<typeof uploadsIn>, organization: number, count: number) =>
    Effect.repeat(uploads.arrive(organization), { times: count - 1 })

  it.effect("let one organization alone have nearly all, and another one in at once, however many clients wait", () =>
    Effect.gen(function* () {
      const uploads = uploadsIn(makeUploadSlots(8))
      yield* arrivals(uploads, 0, 1_000)
      assert.deepStrictEqual(uploads.begun, [0, 1, 2, 3, 4, 5, 6])
      // Eight wait, and the others are refused at once.
      assert.lengthOf(uploads.refused, 1_000 - 7 - 8)
      yield* uploads.arrive(1)
      assert.strictEqual(uploads.begun.at(-1), 1_000)
    })
  )

  it.effect("go to whoever has the fewest, until both have the same", () =>
    Effect.gen(function* () {
      const uploads = uploadsIn(makeUploadSlots(8))
      yield* arrivals(uploads, 0, 15)
      yield* arrivals(uploads, 1, 5)
      assert.strictEqual(uploads.begun.length, 8)
      for (const number of [0, 1, 2, 3]) {
        yield* uploads.end(number)
        yield* TestClock.adjust(0)
      }
      // One of the four stays free for a third organization.
      assert.deepStrictEqual(uploads.begun.slice(8), [16, 17, 7])
      yield* uploads.arrive(2)
      assert.strictEqual(uploads.begun.at(-1), 20)
    })
  )

  it.effect("are waited for during ten seconds, after which an upload is refused with a hint when to try again", () =>
    Effect.gen(function* () {
      const slots = makeUploadSlots(1)
      const uploads = uploadsIn(slots)
      yield* uploads.arrive(0)
      const waiting = yield* Effect.forkChild(Effect.flip(slots.withSlot(idOf(1), Effect.never)), {
        startImmediately: true
      })
      yield* TestClock.adjust(Duration.subtract(maxSlotWait, Duration.millis(1)))
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust(1)
      const error = yield* Fiber.join(waiting)
      assert.strictEqual(error.error.code, "rate_limit_exceeded")
      assert.deepStrictEqual(error.retryAfter, Duration.seconds(1))
      assert.strictEqual(slots.organizations(), 1)
    })
  )

  it.effect("are free again after an upload fails or dies, and whoever waits continues", () =>
    Effect.gen(function* () {
      const slots = makeUploadSlots(1)
      for (const end of [Effect.fail("bad form"), Effect.die("defect"), Effect.interrupt]) {
        yield* Effect.exit(slots.withSlot(idOf(0), end))
        assert.strictEqual(slots.organizations(), 0)
      }
      const uploads = uploadsIn(slots)
      yield* uploads.arrive(0)
      yield* uploads.arrive(1)
      yield* uploads.leave(0)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(uploads.begun, [0, 1])
    })
  )
})
