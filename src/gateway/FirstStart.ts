/**
 * Makes a new installation usable: creates the first organization, its API key and its credit. Runs on every start and
 * finishes what a crash interrupted. A database that was set up in another way is left unchanged.
 */
import { Console, Effect, Layer, Option, Redacted } from "effect"

import { AdminKeys } from "../access/AdminKeys.ts"
import { bootstrap, hasOrganization } from "../access/Bootstrap.ts"
import { requestId } from "../domain/Ids.ts"
import { type Picodollars, toUsd, zero } from "../domain/Money.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"

export interface FirstStartOptions {
  /** The first key. Without one, a key is generated and printed if `mayGenerate`; otherwise nothing is set up. */
  readonly apiKey: Option.Option<Redacted.Redacted>
  readonly mayGenerate: boolean
  /** What the first organization can spend. */
  readonly credit: Picodollars
}

/** A key is printed once and cannot be printed again, because only its hash is stored. */
const printKey = (credit: Picodollars) => (secret: Redacted.Redacted) =>
  Console.log(
    `\n  API key: ${Redacted.value(secret)}\n  It has $${toUsd(credit)} of credit and is shown only this once.\n`
  )

/** The operator's key, for an installation that was given none. */
const generateAdminKey = Effect.gen(function* () {
  const issued = yield* (yield* AdminKeys).issueFirst
  if (Option.isSome(issued)) {
    const secret = Redacted.value(issued.value.secret)
    yield* Console.log(`\n  Admin key: ${secret}\n  It opens /admin/v1 and is shown only this once.`)
  }
})

const noKey =
  "The database is empty, so no API key is valid yet. Set BOOTSTRAP_API_KEY to a key of your own, such as one that " +
  "`openssl rand -hex 32` makes, and start again: the first organization gets that key and BOOTSTRAP_CREDIT_USD"

export const firstStartLayer = (options: FirstStartOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if (Option.isNone(options.apiKey) && !options.mayGenerate) {
        if (!(yield* hasOrganization)) yield* Effect.logWarning(noKey)
        return
      }
      const ledger = yield* CreditLedger
      if (options.mayGenerate) yield* generateAdminKey
      const organization = yield* bootstrap({
        apiKey: Option.getOrUndefined(options.apiKey),
        announce: printKey(options.credit)
      })
      if (Option.isNone(organization) || options.credit === zero) return
      // The payment has the organization's id, so the credit is booked once, however often this runs.
      yield* ledger.grant({
        payment: requestId(organization.value),
        organization: organization.value,
        amount: options.credit
      })
    })
  )
