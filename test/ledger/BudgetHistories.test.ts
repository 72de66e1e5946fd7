/**
 * Runs random histories of an organization with budgets against a model of the ledger that is a few lines of
 * arithmetic, while days and months pass. After every step both must agree on the balance and on every budget.
 */
import { assert } from "@effect/vitest"
import { Clock, DateTime, Effect, Exit, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"

import type { BudgetPeriod } from "../../src/domain/Budget.ts"
import type { BudgetId, OrganizationId } from "../../src/domain/Ids.ts"
import { CreditLedger, type Hold } from "../../src/ledger/CreditLedger.ts"
import { sweep } from "../../src/ledger/Sweeper.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { assertAllAgree, budgetAt, newBudget, requestAt, shiftedClock } from "./TestBudget.ts"
import { balanceOf, funded, pico, silenceGateways, withLedger } from "./TestLedger.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const hour = 3_600_000
/** A few days before clocks change in Berlin, and a month ends. */
const start = Date.UTC(2026, 9, 21, 20)

/** The kinds of requests, by the budgets that they have: two keys of one organization, and one without budgets. */
const kinds = [[0, 1], [2, 1], []] as const
const budgetKinds: ReadonlyArray<{ readonly amount: number; readonly period: BudgetPeriod; readonly zone: string }> = [
  { amount: 4, period: "day", zone: "Europe/Berlin" },
  { amount: 20, period: "month", zone: "America/New_York" },
  { amount: 9, period: "week", zone: "UTC" }
]

const Command = Schema.Union([
  /** Holds that arrive together and are written by one statement. */
  Schema.Struct({
    do: Schema.Literal("hold"),
    holds: Schema.Array(Schema.Struct({ kind: upTo(2), amount: upTo(6) })).check(Schema.isMaxLength(6))
  }),
  /** `which` counts all holds that were ever granted, so the hold may be settled, refunded or swept already. */
  Schema.Struct({ do: Schema.Literal("settle"), which: upTo(20), amount: upTo(9) }),
  Schema.Struct({ do: Schema.Literal("refund"), which: upTo(20) }),
  Schema.Struct({ do: Schema.Literal("stop_heartbeats") }),
  Schema.Struct({ do: Schema.Literal("wait"), hours: Schema.Literals([1, 2, 20, 24 * 7, 24 * 31]) }),
  Schema.Struct({ do: Schema.Literal("change"), budget: upTo(2), amount: upTo(50) })
])
type Command = typeof Command.Type

interface ModelBudget {
  readonly id: BudgetId
  readonly period: BudgetPeriod
  readonly zone: string
  amount: bigint
  start: number
  spent: bigint
  held: bigint
}

interface ModelHold {
  readonly hold: Hold
  readonly scope: Scope.Closeable
  /** The budgets, each with the beginning of the period in which the hold was taken. */
  readonly budgets: ReadonlyArray<readonly [ModelBudget, number]>
  readonly atMillis: number
  ended: boolean
  open: boolean
}

interface History {
  readonly organization: OrganizationId
  readonly budgets: ReadonlyArray<ModelBudget>
  readonly holds: Array<ModelHold>
  available: bigint
  held: bigint
  now: number
}

const startOf = ({ period, start: first, zone }: Pick<ModelBudget, "period" | "start" | "zone">, at: number): number =>
  period === "total"
    ? first
    : DateTime.makeZonedUnsafe(at, { timeZone: zone }).pipe(
        DateTime.startOf(period, { weekStartsOn: 1 }),
        DateTime.toEpochMillis
      )

/** Lets the periods begin that have begun by now. */
const renew = (history: History): void => {
  for (const budget of history.budgets) {
    const began = startOf(budget, history.now)
    if (began > budget.start) Object.assign(budget, { start: began, spent: 0n, held: 0n })
  }
}

const release = (history: History, granted: ModelHold): void => {
  if (!granted.open) return
  granted.open = false
  history.available += granted.hold.amount
  history.held -= granted.hold.amount
  for (const [budget, began] of granted.budgets) if (budget.start === began) budget.held -= granted.hold.amount
}

const hold = Effect.fnUntraced(function* (history: History, command: Command & { do: "hold" }) {
  const ledger = yield* CreditLedger
  const { budgets, now, organization } = history
  const one = Effect.fnUntraced(function* ({ amount, kind }: { readonly amount: number; readonly kind: number }) {
    const scope = yield* Scope.make()
    const of = (kinds[kind] ?? []).flatMap((index) => budgets[index] ?? [])
    const ids = of.map(({ id }) => id)
    const request = { request: requestAt(now), organization, amount: pico(amount) }
    const taken = ledger.hold({ ...request, ...(ids.length > 0 && { budgets: ids }) })
    return { scope, of, exit: yield* Effect.exit(Scope.provide(taken, scope)) }
  })
  for (const { exit, of, scope } of yield* Effect.forEach(command.holds, one, { concurrency: "unbounded" })) {
    const isPaid = history.available > 0n
    const isAllowed = of.every(({ amount, held, spent }) => amount - spent - held > 0n)
    assert.strictEqual(Exit.isSuccess(exit), isPaid && isAllowed)
    if (Exit.isFailure(exit)) continue
    const { amount } = exit.value
    history.available -= amount
    history.held += amount
    for (const budget of of) budget.held += amount
    const taken = of.map((budget) => [budget, budget.start] as const)
    history.holds.push({ hold: exit.value, scope, budgets: taken, atMillis: now, ended: false, open: true })
  }
})

const settle = Effect.fnUntraced(function* (history: History, { amount, which }: Command & { do: "settle" }) {
  const granted = history.holds[which]
  if (granted === undefined) return
  yield* Effect.all([granted.hold.settle(pico(amount)), granted.hold.settle(pico(9))], { concurrency: "unbounded" })
  if (granted.ended) return
  granted.ended = true
  const wasOpen = granted.open
  release(history, granted)
  history.available -= BigInt(amount)
  for (const [budget, began] of granted.budgets) {
    const counts = wasOpen ? budget.start === began : granted.atMillis >= budget.start
    if (counts) budget.spent += BigInt(amount)
  }
})

const refund = Effect.fnUntraced(function* (history: History, { which }: Command & { do: "refund" }) {
  const granted = history.holds[which]
  if (granted === undefined) return
  yield* Scope.close(granted.scope, Exit.void)
  if (!granted.ended) release(history, granted)
  granted.ended = true
})

const stopHeartbeats = Effect.fnUntraced(function* (history: History) {
  yield* silenceGateways
  assert.strictEqual(yield* sweep, history.holds.filter(({ open }) => open).length)
  for (const granted of history.holds) release(history, granted)
})

const change = Effect.fnUntraced(function* (history: History, command: Command & { do: "change" }) {
  const sql = yield* SqlClient.SqlClient
  const budget = history.budgets[command.budget] ?? assert.fail("no such budget")
  budget.amount = BigInt(command.amount + 1)
  yield* sql`UPDATE budget SET amount = ${budget.amount}::bigint WHERE id = ${budget.id}::uuid`
})

const step = (history: History, command: Command) => {
  switch (command.do) {
    case "hold":
      return hold(history, command)
    case "settle":
      return settle(history, command)
    case "refund":
      return refund(history, command)
    case "stop_heartbeats":
      return stopHeartbeats(history)
    case "change":
      return change(history, command)
    case "wait":
      return Effect.sync(() => {
        history.now += command.hours * hour
      })
  }
}

const assertAgreement = Effect.fnUntraced(function* ({ available, budgets, held, now, organization }: History) {
  assert.deepStrictEqual(yield* balanceOf(organization), [available, held])
  for (const budget of budgets)
    assert.deepStrictEqual(yield* budgetAt(budget.id, now), [budget.spent, budget.held], budget.period)
})

const replay = Effect.fnUntraced(function* (credit: number, commands: ReadonlyArray<Command>) {
  const history: History = {
    organization: yield* withLedger(funded(credit + 1)),
    budgets: [],
    holds: [],
    available: BigInt(credit + 1),
    held: 0n,
    now: start
  }
  const budgets = yield* Effect.forEach(budgetKinds, (kind) =>
    Effect.map(newBudget(history.organization, kind.amount, { ...kind, atMillis: start }), (id): ModelBudget => {
      const { amount, period, zone } = kind
      const began = startOf({ period, zone, start }, start)
      return { id, period, zone, amount: BigInt(amount), start: began, spent: 0n, held: 0n }
    })
  )
  const running: History = Object.assign(history, { budgets })
  const clock = yield* Clock.Clock
  const shifted = shiftedClock(clock, () => running.now - clock.currentTimeMillisUnsafe())
  yield* Effect.gen(function* () {
    for (const command of commands) {
      renew(running)
      yield* step(running, command)
      renew(running)
      yield* assertAgreement(running)
      yield* assertAllAgree
    }
    yield* Effect.forEach(running.holds, ({ scope }) => Scope.close(scope, Exit.void))
    yield* assertAllAgree
  }).pipe(withLedger, Effect.provideService(Clock.Clock, shifted))
})

describeOnEngines("Budget histories", (it) => {
  it.effect.prop(
    "agree with plain arithmetic, whatever is held, settled, refunded and swept while periods pass",
    {
      credit: upTo(60),
      commands: Schema.Array(Command).check(Schema.isMinLength(5), Schema.isMaxLength(30))
    },
    ({ commands, credit }) => replay(credit, commands),
    { arbitrary: { runs: 80 } }
  )
})
