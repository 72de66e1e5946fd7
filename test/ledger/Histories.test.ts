/**
 * Runs random histories of two organizations against a model of the ledger that is a few lines of arithmetic. After
 * every step both must agree on every balance. A history that fails is shrunk to the shortest one that does.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"

import type { OrganizationId, RequestId } from "../../src/domain/Ids.ts"
import { CreditLedger, type Hold } from "../../src/ledger/CreditLedger.ts"
import { sweep } from "../../src/ledger/Sweeper.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  balanceOf,
  charges,
  newOrganization,
  newRequest,
  pico,
  silenceGateways,
  withLedger
} from "./TestLedger.ts"

// Amounts are small so that balances are often exactly zero.
const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Organization = upTo(1)

const Command = Schema.Union([
  Schema.Struct({ do: Schema.Literal("grant"), to: Organization, payment: upTo(5), amount: upTo(9) }),
  /** Holds that arrive together and are written by one statement. */
  Schema.Struct({
    do: Schema.Literal("hold"),
    of: Organization,
    amounts: Schema.Array(upTo(6)).check(Schema.isMaxLength(4))
  }),
  /** `which` counts all holds that were ever granted, so the hold may be settled, refunded or swept already. */
  Schema.Struct({ do: Schema.Literal("settle"), which: upTo(20), amounts: Schema.NonEmptyArray(upTo(9)) }),
  Schema.Struct({ do: Schema.Literal("refund"), which: upTo(20) }),
  /** The gateway stops sending heartbeats, its holds are swept, and it goes on without knowing. */
  Schema.Struct({ do: Schema.Literal("stop_heartbeats") })
])
type Command = typeof Command.Type

interface GrantedHold {
  readonly organization: number
  readonly hold: Hold
  readonly scope: Scope.Closeable
  /** In the model: whether its caller has settled or refunded it. */
  ended: boolean
  /** In the model: whether its amount is still held. */
  open: boolean
}

interface History {
  readonly organizations: ReadonlyArray<OrganizationId>
  readonly payments: ReadonlyArray<RequestId>
  readonly holds: Array<GrantedHold>
  /** The model: the available credit and the charges of each organization. */
  readonly accounts: ReadonlyArray<{ available: bigint; readonly charges: Array<bigint> }>
  readonly booked: Set<string>
}

const release = (history: History, granted: GrantedHold): void => {
  if (granted.open) accountOf(history, granted.organization).available += granted.hold.amount
  granted.open = false
}

const accountOf = (history: History, organization: number) =>
  history.accounts[organization] ?? assert.fail("no such account")
const idOf = (history: History, organization: number) =>
  history.organizations[organization] ?? assert.fail("no such account")

const grant = Effect.fnUntraced(function* (history: History, command: Command & { do: "grant" }) {
  const ledger = yield* CreditLedger
  const payment = history.payments[command.payment] ?? assert.fail("no such payment")
  const amount = pico(command.amount + 1)
  const key = `${command.to}:${command.payment}`
  const applied = yield* ledger.grant({ payment, organization: idOf(history, command.to), amount })
  assert.strictEqual(applied, !history.booked.has(key))
  if (!applied) return
  history.booked.add(key)
  accountOf(history, command.to).available += amount
})

const hold = Effect.fnUntraced(function* (history: History, command: Command & { do: "hold" }) {
  const ledger = yield* CreditLedger
  const account = accountOf(history, command.of)
  const one = Effect.fnUntraced(function* (amount: number) {
    const scope = yield* Scope.make()
    const options = { request: newRequest(), organization: idOf(history, command.of), amount: pico(amount) }
    return { scope, exit: yield* Effect.exit(Scope.provide(ledger.hold(options), scope)) }
  })
  for (const { scope, exit } of yield* Effect.forEach(command.amounts, one, { concurrency: "unbounded" })) {
    assert.strictEqual(Exit.isSuccess(exit), account.available > 0n)
    if (Exit.isFailure(exit)) continue
    account.available -= exit.value.amount
    history.holds.push({ organization: command.of, hold: exit.value, scope, ended: false, open: true })
  }
})

const settle = Effect.fnUntraced(function* (history: History, command: Command & { do: "settle" }) {
  const granted = history.holds[command.which]
  if (granted === undefined) return
  yield* Effect.forEach(command.amounts, (amount) => granted.hold.settle(pico(amount)), { concurrency: "unbounded" })
  if (granted.ended) return
  granted.ended = true
  release(history, granted)
  const account = accountOf(history, granted.organization)
  account.available -= BigInt(command.amounts[0])
  account.charges.push(BigInt(command.amounts[0]))
})

const refund = Effect.fnUntraced(function* (history: History, command: Command & { do: "refund" }) {
  const granted = history.holds[command.which]
  if (granted === undefined) return
  yield* Scope.close(granted.scope, Exit.void)
  if (!granted.ended) release(history, granted)
  granted.ended = true
})

const stopHeartbeats = Effect.fnUntraced(function* (history: History) {
  yield* silenceGateways
  const swept = yield* sweep
  assert.strictEqual(swept, history.holds.filter((granted) => granted.open).length)
  for (const granted of history.holds) release(history, granted)
})

const step = (history: History, command: Command) => {
  switch (command.do) {
    case "grant":
      return grant(history, command)
    case "hold":
      return hold(history, command)
    case "settle":
      return settle(history, command)
    case "refund":
      return refund(history, command)
    case "stop_heartbeats":
      return stopHeartbeats(history)
  }
}

const assertAgreement = (history: History) =>
  Effect.forEach(history.accounts, (account, index) =>
    Effect.gen(function* () {
      const open = history.holds.filter((granted) => granted.open && granted.organization === index)
      const held = open.reduce((sum, { hold }) => sum + hold.amount, 0n)
      assert.deepStrictEqual(yield* balanceOf(idOf(history, index)), [account.available, held])
    })
  )

const replay = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>) {
  const history: History = {
    organizations: [newOrganization(), newOrganization()],
    payments: Array.from({ length: 6 }, newRequest),
    holds: [],
    accounts: [
      { available: 0n, charges: [] },
      { available: 0n, charges: [] }
    ],
    booked: new Set()
  }
  for (const command of commands) {
    yield* step(history, command)
    yield* assertAgreement(history)
  }
  yield* Effect.forEach(history.holds, ({ scope }) => Scope.close(scope, Exit.void))
  for (const [index, account] of history.accounts.entries()) {
    const sorted = account.charges.toSorted((a, b) => Number(a - b))
    assert.deepStrictEqual(yield* charges(idOf(history, index)), sorted)
  }
  yield* assertBooksAgree
}, withLedger)

describeOnEngines("Histories", (it) => {
  it.effect.prop(
    "agree with plain arithmetic, whatever is granted, held, settled, refunded, repeated and swept",
    { commands: Schema.Array(Command).check(Schema.isMinLength(5), Schema.isMaxLength(30)) },
    ({ commands }) => replay(commands),
    { arbitrary: { runs: 60 } }
  )
})
