/**
 * Random histories of two organizations against a ledger that is a few lines of arithmetic. After every step both must
 * agree on every balance; a history that breaks this is shrunk to the shortest one that does.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"

import type { OrganizationId, RequestId } from "../../src/domain/Ids.ts"
import { CreditLedger, type Hold } from "../../src/ledger/CreditLedger.ts"
import { sweep } from "../../src/ledger/Sweeper.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  books,
  charges,
  newOrganization,
  newRequest,
  pico,
  silenceGateways,
  withLedger
} from "./TestLedger.ts"

// Amounts are small so that balances often meet zero exactly.
const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const Organization = upTo(1)

const Command = Schema.Union([
  Schema.Struct({ do: Schema.Literal("grant"), to: Organization, payment: upTo(5), amount: upTo(9) }),
  /** Holds that arrive together, and so in one statement. */
  Schema.Struct({
    do: Schema.Literal("hold"),
    of: Organization,
    amounts: Schema.Array(upTo(6)).check(Schema.isMaxLength(4))
  }),
  /** `which` counts all holds ever granted, so it may settle one that is settled, refunded or swept. */
  Schema.Struct({ do: Schema.Literal("settle"), which: upTo(20), amounts: Schema.NonEmptyArray(upTo(9)) }),
  Schema.Struct({ do: Schema.Literal("refund"), which: upTo(20) }),
  /** The gateway falls silent, its holds are swept, and it comes back not knowing. */
  Schema.Struct({ do: Schema.Literal("lapse") })
])
type Command = typeof Command.Type

interface Taken {
  readonly organization: number
  readonly hold: Hold
  readonly scope: Scope.Closeable
  /** In the model: its caller has settled or refunded it. */
  ended: boolean
  /** In the model: its amount is still set aside. */
  open: boolean
}

interface World {
  readonly organizations: ReadonlyArray<OrganizationId>
  readonly payments: ReadonlyArray<RequestId>
  readonly taken: Array<Taken>
  /** The model: what can be spent, and what was charged. */
  readonly accounts: ReadonlyArray<{ available: bigint; readonly charges: Array<bigint> }>
  readonly booked: Set<string>
}

const release = (world: World, taken: Taken): void => {
  if (taken.open) accountOf(world, taken.organization).available += taken.hold.amount
  taken.open = false
}

const accountOf = (world: World, organization: number) => world.accounts[organization] ?? assert.fail("no such account")
const idOf = (world: World, organization: number) => world.organizations[organization] ?? assert.fail("no such account")

const grant = Effect.fnUntraced(function* (world: World, command: Command & { do: "grant" }) {
  const ledger = yield* CreditLedger
  const payment = world.payments[command.payment] ?? assert.fail("no such payment")
  const amount = pico(command.amount + 1)
  const key = `${command.to}:${command.payment}`
  const applied = yield* ledger.grant({ payment, organization: idOf(world, command.to), amount })
  assert.strictEqual(applied, !world.booked.has(key))
  if (!applied) return
  world.booked.add(key)
  accountOf(world, command.to).available += amount
})

const hold = Effect.fnUntraced(function* (world: World, command: Command & { do: "hold" }) {
  const ledger = yield* CreditLedger
  const account = accountOf(world, command.of)
  const one = Effect.fnUntraced(function* (amount: number) {
    const scope = yield* Scope.make()
    const options = { request: newRequest(), organization: idOf(world, command.of), amount: pico(amount) }
    return { scope, exit: yield* Effect.exit(Scope.provide(ledger.hold(options), scope)) }
  })
  for (const { scope, exit } of yield* Effect.forEach(command.amounts, one, { concurrency: "unbounded" })) {
    assert.strictEqual(Exit.isSuccess(exit), account.available > 0n)
    if (Exit.isFailure(exit)) continue
    account.available -= exit.value.amount
    world.taken.push({ organization: command.of, hold: exit.value, scope, ended: false, open: true })
  }
})

const settle = Effect.fnUntraced(function* (world: World, command: Command & { do: "settle" }) {
  const taken = world.taken[command.which]
  if (taken === undefined) return
  yield* Effect.forEach(command.amounts, (amount) => taken.hold.settle(pico(amount)), { concurrency: "unbounded" })
  if (taken.ended) return
  taken.ended = true
  release(world, taken)
  const account = accountOf(world, taken.organization)
  account.available -= BigInt(command.amounts[0])
  account.charges.push(BigInt(command.amounts[0]))
})

const refund = Effect.fnUntraced(function* (world: World, command: Command & { do: "refund" }) {
  const taken = world.taken[command.which]
  if (taken === undefined) return
  yield* Scope.close(taken.scope, Exit.void)
  if (!taken.ended) release(world, taken)
  taken.ended = true
})

const lapse = Effect.fnUntraced(function* (world: World) {
  yield* silenceGateways
  const swept = yield* sweep
  assert.strictEqual(swept, world.taken.filter((taken) => taken.open).length)
  for (const taken of world.taken) release(world, taken)
})

const step = (world: World, command: Command) => {
  switch (command.do) {
    case "grant":
      return grant(world, command)
    case "hold":
      return hold(world, command)
    case "settle":
      return settle(world, command)
    case "refund":
      return refund(world, command)
    case "lapse":
      return lapse(world)
  }
}

const assertAgreement = (world: World) =>
  Effect.forEach(world.accounts, (account, index) =>
    Effect.gen(function* () {
      const open = world.taken.filter((taken) => taken.open && taken.organization === index)
      const held = open.reduce((sum, { hold }) => sum + hold.amount, 0n)
      assert.deepStrictEqual(yield* books(idOf(world, index)), [account.available, held])
    })
  )

const replay = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>) {
  const world: World = {
    organizations: [newOrganization(), newOrganization()],
    payments: Array.from({ length: 6 }, newRequest),
    taken: [],
    accounts: [
      { available: 0n, charges: [] },
      { available: 0n, charges: [] }
    ],
    booked: new Set()
  }
  for (const command of commands) {
    yield* step(world, command)
    yield* assertAgreement(world)
  }
  yield* Effect.forEach(world.taken, ({ scope }) => Scope.close(scope, Exit.void))
  for (const [index, account] of world.accounts.entries()) {
    const sorted = account.charges.toSorted((a, b) => Number(a - b))
    assert.deepStrictEqual(yield* charges(idOf(world, index)), sorted)
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
