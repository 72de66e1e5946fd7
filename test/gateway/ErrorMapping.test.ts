import { assert, describe, it } from "@effect/vitest"

import { budgetId } from "../../src/domain/Ids.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { errorFromLedger } from "../../src/gateway/ErrorMapping.ts"
import { LedgerError } from "../../src/ledger/LedgerError.ts"

const messageOf = (reason: LedgerError["reason"]): string => errorFromLedger(new LedgerError({ reason })).error.message

const funds = { available: 400_000_000_000n, held: 600_000_000_000n }
const budget = {
  id: budgetId("018f0000-0000-7000-8000-000000000001"),
  subject: "api_key",
  period: "total",
  timeZone: "UTC",
  amount: picodollars(2_000_000_000_000n),
  spent: picodollars(1_000_000_000_000n),
  held: picodollars(1_000_000_000_000n),
  renewsAtMillis: undefined
} as const

describe("The error of credit that could not be held", () => {
  it("says to try again only where what others hold would pay for the request", () => {
    const waits = messageOf({ _tag: "InsufficientCredits", funds })
    assert.include(waits, "it has 1 USD, and 0.6 USD are held until those requests end. Try again then")
    const never = messageOf({ _tag: "InsufficientCredits", funds, isTooLittle: true })
    assert.include(never, "has 1 USD left and may not owe anything")
    assert.notMatch(never, /try again/i)
  })

  it("says the same of a budget", () => {
    const waits = messageOf({ _tag: "BudgetExceeded", budget })
    assert.include(waits, "1 USD are held for other requests until those end; try again then")
    const never = messageOf({ _tag: "BudgetExceeded", budget, isTooLittle: true })
    assert.include(never, "1 USD are spent, and the 1 USD that are left cannot pay for it")
    assert.notMatch(never, /try again/i)
  })
})
