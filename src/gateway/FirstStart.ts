/**
 * Makes a new installation usable: the first organization, its key and its credit. Runs on every start, and finishes
 * what a crash cut off; a database that was set up in another way is left alone.
 */
import { Console, Effect, Layer, Option, Redacted } from "effect"

import { bootstrap } from "../access/Bootstrap.ts"
import { requestId } from "../domain/Ids.ts"
import { type Picodollars, toUsd, zero } from "../domain/Money.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"

export interface FirstStartOptions {
  /** The first key; without one, a key is made up and printed if `mayGenerate`, and nothing is set up if not. */
  readonly apiKey: Option.Option<Redacted.Redacted>
  readonly mayGenerate: boolean
  readonly credit: Picodollars
}

/** Printed once and never again, because only its hash is kept. */
const print = (credit: Picodollars) => (secret: Redacted.Redacted) =>
  Console.log(
    `\n  API key: ${Redacted.value(secret)}\n  It has $${toUsd(credit)} of credit and is shown only this once.\n`
  )

export const firstStartLayer = (options: FirstStartOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if (Option.isNone(options.apiKey) && !options.mayGenerate) return
      const ledger = yield* CreditLedger
      const organization = yield* bootstrap({
        apiKey: Option.getOrUndefined(options.apiKey),
        announce: print(options.credit)
      })
      if (Option.isNone(organization) || options.credit === zero) return
      // The organization's id is the payment's, so however often this runs, the credit is booked once.
      yield* ledger.grant({
        payment: requestId(organization.value),
        organization: organization.value,
        amount: options.credit
      })
    })
  )
