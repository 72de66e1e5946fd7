/** A request that is made twice under one id, as after the death of its gateway: it is charged once, and knows it. */
import { assert } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { whileTimePasses } from "../support/PassingTime.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  balanceOf,
  charges,
  connectionLost,
  funded,
  newOrganization,
  newRequest,
  pico,
  withLedger,
  withLedgerOver,
  withOtherLedger
} from "./TestLedger.ts"

const factsOf = (text: string): string => JSON.stringify({ text })

/** Takes a hold under this id and settles it, as one try of the request. */
const tryOnce = Effect.fnUntraced(function* (
  ids: Pick<Parameters<CreditLedger["Service"]["hold"]>[0], "request" | "organization">,
  amount: number,
  facts: string,
  mayBeCharged = false
) {
  const ledger = yield* CreditLedger
  const hold = yield* ledger.hold({ ...ids, amount: pico(100), mayBeCharged })
  return yield* hold.settle(pico(amount), facts)
}, Effect.scoped)

describeOnEngines("A charge", (it) => {
  it.effect("is that of the first try, with its facts, and the later one is told so", () =>
    Effect.gen(function* () {
      const ids = { request: newRequest(), organization: yield* funded(1_000) }
      const first = yield* tryOnce(ids, 70, factsOf("first"))
      assert.deepStrictEqual(first, { charge: { amount: pico(70), facts: factsOf("first") } })
      const second = yield* withOtherLedger(tryOnce(ids, 90, factsOf("second")))
      assert.strictEqual(second.charge.amount, pico(70))
      assert.deepStrictEqual(JSON.parse(second.charge.facts ?? ""), { text: "first" })
      assert.isUndefined(second.pending)
      assert.deepStrictEqual(
        [yield* charges(ids.organization), yield* balanceOf(ids.organization)],
        [[70n], [930n, 0n]]
      )
    }).pipe(withLedger)
  )

  it.effect("is told to each of a batch in which some requests were charged before", () =>
    Effect.gen(function* () {
      const organization = yield* funded(10_000)
      const requests = Array.from({ length: 6 }, newRequest)
      const ofOthers = { request: requests[0] ?? newRequest(), organization: yield* funded(1_000) }
      yield* tryOnce(ofOthers, 99, factsOf("of another organization"))
      for (const request of requests.slice(3)) yield* tryOnce({ request, organization }, 1, factsOf("before"))
      const told = yield* Effect.forEach(requests, (request) => tryOnce({ request, organization }, 7, factsOf("now")), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        told.map(({ charge }) => charge.amount),
        [7, 7, 7, 1, 1, 1].map((amount) => pico(amount))
      )
    }).pipe(withLedger)
  )

  it.effect("holds nothing and asks for no credit when the request was charged before", () =>
    Effect.gen(function* () {
      const ids = { request: newRequest(), organization: yield* funded(1) }
      yield* tryOnce(ids, 70, factsOf("first"))
      const ledger = yield* CreditLedger
      const again = yield* ledger.hold({ ...ids, amount: pico(100), mayBeCharged: true })
      assert.deepStrictEqual([again.amount, again.charged?.amount], [pico(0), pico(70)])
      assert.deepStrictEqual(yield* balanceOf(ids.organization), [-69n, 0n])
      assert.strictEqual((yield* again.settle(pico(90))).charge.amount, pico(70))
      assert.deepStrictEqual(
        [yield* charges(ids.organization), yield* balanceOf(ids.organization)],
        [[70n], [-69n, 0n]]
      )
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("is held for as usual when no try was charged", () =>
    Effect.gen(function* () {
      const ids = { request: newRequest(), organization: yield* funded(1_000) }
      const told = yield* tryOnce(ids, 70, factsOf("only"), true)
      assert.deepStrictEqual(told, { charge: { amount: pico(70), facts: factsOf("only") } })
    }).pipe(withLedger)
  )

  it.effect("is the request's own although the first answer of the database was lost", () =>
    Effect.gen(function* () {
      let lost = true
      const organization = newOrganization()
      const told = yield* withLedgerOver(
        (statement) =>
          Effect.suspend(() => {
            if (lost) return statement
            lost = true
            return Effect.andThen(statement, connectionLost)
          }),
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          yield* ledger.grant({ payment: newRequest(), organization, amount: pico(1_000) })
          const hold = yield* ledger.hold({ request: newRequest(), organization, amount: pico(100) })
          lost = false
          const settled = yield* whileTimePasses(hold.settle(pico(70), factsOf("own")))
          return yield* whileTimePasses(settled.pending ?? Effect.succeed(settled.charge))
        }).pipe(Effect.scoped)
      )
      assert.strictEqual(told.amount, pico(70))
      assert.deepStrictEqual(yield* withLedger(charges(organization)), [70n])
    })
  )

  it.effect("is pending while the database does not answer, and then what was booked in the end", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make(true)
      const ids = { request: newRequest(), organization: newOrganization() }
      const booked = yield* withLedgerOver(
        (statement) => Effect.andThen(Latch.await(latch), statement),
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          yield* ledger.grant({ payment: newRequest(), organization: ids.organization, amount: pico(1_000) })
          const hold = yield* ledger.hold({ ...ids, amount: pico(100) })
          yield* latch.close
          const settling = yield* Effect.forkChild(hold.settle(pico(90), factsOf("late")))
          yield* TestClock.adjust("1250 millis")
          yield* withOtherLedger(tryOnce(ids, 70, factsOf("first")))
          yield* latch.open
          const told = settling.pollUnsafe()
          if (told?._tag !== "Success") return assert.fail("the caller still waits")
          assert.strictEqual(told.value.charge.amount, pico(90))
          return yield* told.value.pending ?? assert.fail("it is not durable yet")
        }).pipe(Effect.scoped)
      )
      assert.strictEqual(booked.amount, pico(70))
    })
  )

  it.effect("keeps any text in its facts as it is", () =>
    Effect.gen(function* () {
      const ids = { request: newRequest(), organization: yield* funded(1_000) }
      const text = `quotes " and \\ and {braces}, 'single', NULL, a newline \n, a tab \t, \u{1F600} and \u2028`
      yield* tryOnce(ids, 7, factsOf(text))
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT facts FROM credit_entry WHERE id = ${ids.request}`
      assert.deepStrictEqual(rows, [{ facts: { text } }])
    }).pipe(withLedger)
  )
})
