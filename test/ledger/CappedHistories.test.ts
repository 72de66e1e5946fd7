/**
 * Runs random histories of an organization with a hard cap at two gateways. Whatever providers count, its account never
 * goes below zero; and no request is refused that the settled money pays for, whoever holds it.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import type { OrganizationId } from "../../src/domain/Ids.ts"
import { CreditLedger, type Hold } from "../../src/ledger/CreditLedger.ts"
import type { ReduceHold } from "../../src/ledger/PendingWrite.ts"
import { sweep } from "../../src/ledger/Sweeper.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { assertAllAgree, budgetAt, newBudget } from "./TestBudget.ts"
import {
  assertBooksAgree,
  balanceOf,
  funded,
  newOrganization,
  newRequest,
  pico,
  silenceGateways,
  takeHold,
  withLedger,
  withOtherLedger
} from "./TestLedger.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Gateway = upTo(1)

const Command = Schema.Union([
  Schema.Struct({ do: Schema.Literal("grant"), amount: upTo(99) }),
  /** A request that would like `more` than it needs for a modest answer, and that more than for a short one. */
  Schema.Struct({ do: Schema.Literal("ask"), at: Gateway, short: upTo(9), modest: upTo(9), more: upTo(400) }),
  /** Holds that end together, each at so many times its amount. They may be swept or settled already. */
  Schema.Struct({
    do: Schema.Literal("settle"),
    which: Schema.Array(upTo(20)).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
    times: upTo(100)
  }),
  Schema.Struct({ do: Schema.Literal("refund"), which: upTo(20) }),
  /** Both gateways stop sending heartbeats, their holds are swept, and they go on without knowing. */
  Schema.Struct({ do: Schema.Literal("stop_heartbeats") })
])
type Command = typeof Command.Type

interface GrantedHold {
  readonly hold: Hold
  readonly scope: Scope.Closeable
  readonly gateway: CreditLedger["Service"]
  ended: boolean
  swept: boolean
}

interface History {
  readonly organization: OrganizationId
  readonly gateways: ReadonlyArray<CreditLedger["Service"]>
  readonly holds: Array<GrantedHold>
  /** What the requests cost that were settled, and so what their charges and what they lack add up to. */
  cost: bigint
}

const atLeast =
  (short: bigint): ReduceHold =>
  (most) =>
    most >= short ? most : undefined

/** Ends what is open by a refund. */
const refund = Effect.fnUntraced(function* (granted: GrantedHold) {
  yield* Scope.close(granted.scope, Exit.void)
  granted.ended = true
})

/** Lets a check of those that wait pass, and the answers to what it has sent. */
const nextCheck = Effect.fnUntraced(function* (gateway: CreditLedger["Service"]) {
  yield* TestClock.adjust("250 millis")
  yield* Effect.scoped(
    Effect.provideService(
      Effect.flatMap(funded(1), (other) => takeHold(other, 0)),
      CreditLedger,
      gateway
    )
  )
})

const ask = Effect.fnUntraced(function* (history: History, command: Command & { do: "ask" }) {
  const { gateways, holds, organization } = history
  const gateway = gateways[command.at] ?? assert.fail("no such gateway")
  const short = BigInt(1 + command.short)
  const modest = short + BigInt(command.modest)
  const [available = 0n, held = 0n] = yield* balanceOf(organization)
  const scope = yield* Scope.make()
  const request = newRequest()
  const amount = pico(modest + BigInt(command.more))
  const asking = yield* gateway
    .hold({ request, organization, amount, reduce: atLeast(short), hardCap: { modest: pico(modest), waits: false } })
    .pipe(Scope.provide(scope), Effect.exit, Effect.forkChild({ startImmediately: true }))
  if (available < amount && available < modest && available + held >= short) {
    // It may wait for the others, which end one by one until it is answered.
    for (const open of holds.filter((one) => !one.ended)) {
      if (asking.pollUnsafe() !== undefined) break
      yield* refund(open)
      yield* nextCheck(gateway)
    }
    for (let check = 0; check < 200 && asking.pollUnsafe() === undefined; check++) yield* nextCheck(gateway)
  }
  const answered = yield* Fiber.join(asking)
  assert.strictEqual(Exit.isSuccess(answered), available + held >= short)
  if (Exit.isFailure(answered)) return
  if (amount <= available) assert.strictEqual(answered.value.amount, amount)
  holds.push({ hold: answered.value, scope, gateway, ended: false, swept: false })
})

const settle = Effect.fnUntraced(function* (history: History, { times, which }: Command & { do: "settle" }) {
  const granted = [...new Set(which)].flatMap((index) => history.holds[index] ?? [])
  const [available = 0n] = yield* balanceOf(history.organization)
  const charges = yield* Effect.forEach(
    granted,
    ({ hold }) => hold.settle(pico(BigInt(hold.amount) * BigInt(times)), `{"uncollected": "0"}`),
    { concurrency: "unbounded" }
  )
  for (const [index, one] of granted.entries()) {
    const asked = BigInt(one.hold.amount) * BigInt(times)
    const charged = charges[index]?.charge.amount ?? assert.fail("no answer")
    if (one.ended) continue
    one.ended = true
    history.cost += asked
    if (!one.swept) assert.strictEqual(charged, asked < one.hold.amount ? asked : one.hold.amount)
    else if (granted.length === 1) assert.strictEqual(charged, asked < available ? asked : available)
    else assert.isTrue(charged <= asked, `${charged} of ${asked}`)
  }
})

const step = Effect.fnUntraced(function* (history: History, command: Command) {
  const [first] = history.gateways
  switch (command.do) {
    case "grant":
      yield* (
        first?.grant({
          payment: newRequest(),
          organization: history.organization,
          amount: pico(command.amount + 1)
        }) ?? assert.fail("no gateway")
      )
      return
    case "ask":
      return yield* ask(history, command)
    case "settle":
      return yield* settle(history, command)
    case "refund": {
      const granted = history.holds[command.which]
      if (granted !== undefined && !granted.ended) yield* refund(granted)
      return
    }
    case "stop_heartbeats":
      yield* silenceGateways
      yield* sweep
      for (const granted of history.holds) granted.swept = true
      return
  }
})

/** What the journal says that was charged, and what it says that could not be. */
const journalOf = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly cost: string }>`
    SELECT coalesce(sum(-amount + (facts->>'uncollected')::bigint), 0)::text AS cost FROM credit_entry
    WHERE organization_id = ${organization}::uuid AND kind = 'charge'`
  return BigInt(row?.cost ?? 0)
})

const replay = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>) {
  const first = yield* CreditLedger
  yield* Effect.gen(function* () {
    const history: History = {
      organization: newOrganization(),
      gateways: [first, yield* CreditLedger],
      holds: [],
      cost: 0n
    }
    for (const command of commands) {
      yield* step(history, command)
      const [available = 0n, held = 0n] = yield* balanceOf(history.organization)
      assert.isTrue(available >= 0n && held >= 0n, `${available} available, ${held} held`)
    }
    yield* Effect.forEach(history.holds, ({ scope }) => Scope.close(scope, Exit.void))
    assert.strictEqual(yield* journalOf(history.organization), history.cost)
    yield* assertBooksAgree
  }).pipe(withOtherLedger)
}, withLedger)

describeOnEngines("An account with a hard cap", (it) => {
  it.effect.prop(
    "never goes below zero, and pays for every request that its settled money pays for",
    { commands: Schema.Array(Command).check(Schema.isMinLength(5), Schema.isMaxLength(30)) },
    ({ commands }) => replay(commands),
    { arbitrary: { runs: 60 } }
  )

  it.effect("is not emptied by late charges that share a statement, whose holds were swept", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const ledger = yield* CreditLedger
      const capped = (amount: number) =>
        ledger.hold({
          request: newRequest(),
          organization,
          amount: pico(amount),
          hardCap: { modest: pico(amount), waits: true }
        })
      const late = [yield* capped(40), yield* capped(40)]
      yield* silenceGateways
      yield* sweep
      const others = yield* capped(70)
      const settled = yield* Effect.forEach(late, (hold) => hold.settle(pico(40), "{}"), { concurrency: "unbounded" })
      assert.strictEqual(
        settled.reduce((sum, { charge }) => sum + charge.amount, 0n),
        30n
      )
      assert.deepStrictEqual(yield* balanceOf(organization), [0n, 70n])
      assert.strictEqual((yield* others.settle(pico(7_000), "{}")).charge.amount, 70n)
      assert.deepStrictEqual(yield* balanceOf(organization), [0n, 0n])
      yield* assertBooksAgree
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("gives a request that asks for more than there is an eighth, or what it makes do with", () =>
    Effect.gen(function* () {
      const organization = yield* funded(800)
      const ledger = yield* CreditLedger
      const ask = (modest: number) =>
        ledger.hold({
          request: newRequest(),
          organization,
          amount: pico(10_000),
          reduce: atLeast(1n),
          hardCap: { modest: pico(modest), waits: false }
        })
      const amounts = [yield* ask(10), yield* ask(10), yield* ask(200)].map(({ amount }) => BigInt(amount))
      assert.deepStrictEqual(amounts, [100n, 87n, 200n])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("is not emptied by late charges of requests with a budget, which then counts what was charged", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const budget = yield* newBudget(organization, 1_000)
      const ledger = yield* CreditLedger
      const hold = (amount: number) =>
        ledger.hold({
          request: newRequest(),
          organization,
          amount: pico(amount),
          budgets: [budget],
          hardCap: { modest: pico(amount), waits: true }
        })
      const late = yield* hold(60)
      yield* silenceGateways
      yield* sweep
      const other = yield* hold(70)
      assert.strictEqual((yield* late.settle(pico(6_000), "{}")).charge.amount, 30n)
      assert.strictEqual((yield* other.settle(pico(6_000), "{}")).charge.amount, 70n)
      assert.deepStrictEqual(yield* balanceOf(organization), [0n, 0n])
      assert.deepStrictEqual(yield* budgetAt(budget), [100n, 0n])
      yield* assertAllAgree
    }).pipe(Effect.scoped, withLedger)
  )
})
