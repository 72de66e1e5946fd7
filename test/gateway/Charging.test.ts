import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Logger, Metric, Option, References } from "effect"

import { picodollars } from "../../src/domain/Money.ts"
import { type MeteredUsage, none, type Usage } from "../../src/domain/Usage.ts"
import { chargeRequest } from "../../src/gateway/Charging.ts"
import { ReceiptDraft } from "../../src/gateway/ReceiptDraft.ts"
import type { Charge } from "../../src/ledger/Charge.ts"
import type { Hold } from "../../src/ledger/CreditLedger.ts"
import type { Settled } from "../../src/ledger/PendingWrite.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { readChargeFacts } from "../../src/receipts/StoredReceipt.ts"
import { callOf, holdOf, targetOf } from "./calls.ts"

const usage: Usage = { ...none, input: 10, output: 4 }
const consumption = { metered: { usage, estimated: false }, cost: picodollars(60n), outcome: "completed" } as const

/** The receipts that each of the calls of `charged` has filed. */
const filedBy: Array<Array<Receipt>> = []

/** Charges a request through a hold that answers like this, and waits for what is filed. */
const charged = Effect.fnUntraced(function* (
  settle: (charge: Charge) => Settled,
  metered: MeteredUsage = consumption.metered,
  before: Effect.Effect<void> = Effect.void,
  isCapped = false
) {
  const filed: Array<Receipt> = []
  filedBy.push(filed)
  const settled: Array<Charge> = []
  const hold: Hold = {
    ...holdOf(100n).hold,
    isCapped,
    settle: (amount, facts = "") =>
      Effect.andThen(before, () =>
        Effect.sync(() => {
          settled.push({ amount, facts })
          return settle({ amount, facts })
        })
      )
  }
  const receipt = new ReceiptDraft({ ...callOf(), stream: false }, "v1", 0, (early, final) =>
    Effect.andThen(
      Effect.sync(() => filed.push(early)),
      final ? Effect.map(final, (late) => filed.push(late)) : Effect.void
    )
  )
  receipt.recordHold(hold.amount)
  receipt.recordAnswer({ target: targetOf("m"), attempts: [], value: [] }, 5)
  const told = yield* chargeRequest({ hold, receipt }, { ...consumption, metered })
  return { told, filed, settled }
})

const counted = (metric: string) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const found = metrics.find(({ id }) => id === metric)
    return found?.type === "Counter" ? Number(found.state.count) : 0
  })

const summaryOf = ({ cost, outcome, usage }: Receipt) => ({ cost, outcome, usage })

/** The charge of another try of the request. */
const earlier = Effect.map(
  charged((charge) => ({ charge })),
  ({ settled: [charge] }): Charge => ({
    amount: picodollars(70n),
    facts: (charge?.facts ?? "").replace(`"output":4`, `"output":5`)
  })
)

describe("The charge of a request", () => {
  it.effect("is stored with what it was computed from, and filed before the answer goes out", () =>
    Effect.gen(function* () {
      const { filed, settled, told } = yield* charged((charge) => ({ charge }))
      assert.deepStrictEqual(told, { usage, cost: picodollars(60n) })
      assert.deepStrictEqual(filed.map(summaryOf), [{ cost: picodollars(60n), outcome: "completed", usage }])
      const facts = Option.getOrThrow(readChargeFacts(settled[0]?.facts ?? ""))
      const { endpoint, model } = targetOf("m")
      assert.deepInclude(facts, {
        outcome: "completed",
        usage,
        usageEstimated: false,
        served: { endpoint: endpoint.id, model: model.id },
        catalogVersion: "v1",
        held: picodollars(100n)
      })
    })
  )

  it.effect("is that of an earlier try where that was charged, and the receipt claims no other", () =>
    Effect.gen(function* () {
      const charge = yield* earlier
      const { filed, told } = yield* charged(() => ({ charge }))
      assert.deepStrictEqual(told, { usage: { ...usage, output: 5 }, cost: picodollars(70n) })
      assert.deepStrictEqual(filed.map(summaryOf), [{ cost: picodollars(0n), outcome: "completed", usage: undefined }])
    })
  )

  it.effect("is what is booked in the end, where the database did not answer in time", () =>
    Effect.gen(function* () {
      const charge = yield* earlier
      const own = { cost: picodollars(60n), outcome: "completed", usage }
      const late = yield* charged((asked) => ({ charge: asked, pending: Effect.succeed(asked) }))
      assert.deepStrictEqual(late.filed.map(summaryOf), [own, own])
      const overtaken = yield* charged((asked) => ({ charge: asked, pending: Effect.succeed(charge) }))
      const nothing = { cost: picodollars(0n), outcome: "completed", usage: undefined }
      assert.deepStrictEqual(overtaken.filed.map(summaryOf), [own, nothing])
    })
  )

  it.effect("is its own where a hard cap cut it when it was booked, after its hold was swept", () =>
    Effect.gen(function* () {
      const cut = ({ facts = "" }: Charge): Charge => ({
        amount: picodollars(45n),
        // PostgreSQL puts the members into an order of its own.
        facts: JSON.stringify({ uncollected: "15", ...JSON.parse(facts) })
      })
      const ask = (settle: (charge: Charge) => Settled) => charged(settle, undefined, undefined, true)
      const booked = { cost: picodollars(45n), uncollected: picodollars(15n), usage }
      const { filed, told } = yield* ask((asked) => ({ charge: cut(asked) }))
      assert.deepStrictEqual(told, { usage, cost: picodollars(45n) })
      assert.lengthOf(filed, 1)
      assert.deepInclude(filed[0], booked)
      const late = yield* ask((asked) => ({ charge: asked, pending: Effect.succeed(cut(asked)) }))
      assert.deepInclude(late.filed.at(-1), booked)
      const other = yield* earlier
      const overtaken = yield* ask(() => ({ charge: other }))
      assert.deepStrictEqual(overtaken.filed.map(summaryOf), [
        { cost: picodollars(0n), outcome: "completed", usage: undefined }
      ])
    })
  )

  it.effect("is counted as not collected once the database has cut it, in time or late", () =>
    Effect.gen(function* () {
      const ask = (settle: (charge: Charge) => Settled) => charged(settle, undefined, undefined, true)
      const cut = ({ facts = "" }: Charge): Charge => ({
        amount: picodollars(45n),
        facts: JSON.stringify({ uncollected: "15", ...JSON.parse(facts) })
      })
      const before = yield* counted("tollgate_uncollected_charges_total")
      yield* ask((asked) => ({ charge: asked, pending: Effect.succeed(asked) }))
      assert.strictEqual((yield* counted("tollgate_uncollected_charges_total")) - before, 0)
      yield* ask((asked) => ({ charge: cut(asked) }))
      assert.strictEqual((yield* counted("tollgate_uncollected_charges_total")) - before, 1)
      yield* ask((asked) => ({ charge: asked, pending: Effect.succeed(cut(asked)) }))
      assert.strictEqual((yield* counted("tollgate_uncollected_charges_total")) - before, 2)
    })
  )

  it.effect("is told by its amount where an older version stored nothing with it", () =>
    Effect.gen(function* () {
      const { told } = yield* charged(() => ({ charge: { amount: picodollars(70n) } }))
      assert.deepStrictEqual(told, { usage, cost: picodollars(70n) })
    })
  )

  it.effect("is made whole, with its receipt, although the request is interrupted in the middle of it", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      const attempt = charged((charge) => ({ charge }), consumption.metered, latch.await)
      const fiber = yield* Effect.forkChild(attempt, { startImmediately: true })
      fiber.interruptUnsafe()
      yield* latch.open
      yield* Fiber.await(fiber)
      assert.lengthOf(filedBy.at(-1) ?? [], 1)
    })
  )

  it.effect("raises an alarm where the provider was not believed, and a warning where it reported nothing", () =>
    Effect.gen(function* () {
      const lines: Array<readonly [level: string, ...rest: ReadonlyArray<unknown>]> = []
      const log = Logger.make(
        ({ fiber, logLevel, message }) =>
          void lines.push([logLevel, message, fiber.getRef(References.CurrentLogAnnotations)])
      )
      const count = counted("tollgate_implausible_usage_total")
      const logged = (metered: MeteredUsage) =>
        Effect.provide(
          charged((charge) => ({ charge }), metered),
          Logger.layer([log])
        )
      const before = yield* count
      const implausible = { ...usage, output: 1e300 }
      yield* logged({ usage, estimated: true, implausible })
      assert.strictEqual((yield* count) - before, 1)
      assert.lengthOf(lines, 1)
      assert.match(JSON.stringify(lines), /Error.*acme\/m.*1e\+300/)
      yield* logged({ usage, estimated: true, unreported: true })
      yield* logged({ usage, estimated: true })
      assert.strictEqual((yield* count) - before, 1)
      assert.deepStrictEqual(
        lines.map(([level]) => level),
        ["Error", "Warn"]
      )
    })
  )
})
