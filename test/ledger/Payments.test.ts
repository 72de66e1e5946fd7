import { assert } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SecureRandom } from "effect/crypto"

import { Payments } from "../../src/ledger/Payments.ts"
import { describeOnEngines, whileLocked } from "../support/TestDatabase.ts"
import { newOrganization, pico } from "./TestLedger.ts"

const layer = Payments.layer.pipe(Layer.provide(SecureRandom.layerWebCrypto))

describeOnEngines("Payments", (suite) => {
  suite.layer(layer)((it) => {
    it.effect("wait no longer than five seconds for the database, and are booked once when they are tried again", () =>
      Effect.gen(function* () {
        const payments = yield* Payments
        const organization = newOrganization()
        const payment = { organization, payment: "a", kind: "grant", amount: pico(7), reason: "test" } as const
        const page = { limit: 5 }
        const calls = [
          ["credit_account", payments.book(payment)],
          ["credit_account", payments.balance(organization)],
          ["credit_entry", payments.journal(organization, page)],
          ["credit_hold", payments.openHolds(organization, page)]
        ] as const
        for (const [table, call] of calls) {
          const started = Effect.forkChild(
            Effect.flip(Effect.asVoid<unknown, { readonly reason: object }, never>(call)),
            {
              startImmediately: true
            }
          )
          const failed = yield* whileLocked(table, started, "5 seconds")
          assert.deepInclude((yield* Fiber.join(failed)).reason, { _tag: "Unavailable" })
        }
        yield* payments.book(payment)
        assert.lengthOf((yield* payments.journal(organization, page)).items, 1)
        assert.strictEqual((yield* payments.balance(organization)).available, pico(7))
      })
    )
  })
})
