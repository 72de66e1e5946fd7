/** What the provider bills is stored with what is charged and with the rule between them, and all three are checked. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { audit } from "../../src/audit/Audit.ts"
import type { CheckName } from "../../src/audit/RequestChecks.ts"
import type { RequestId } from "../../src/domain/Ids.ts"
import { funded, withLedger } from "../ledger/TestLedger.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"
import { atPrice, request, tokens } from "./history.ts"

const usage = tokens({ input: 190_001, cacheRead: 20_000, output: 301, reasoning: 100 })
const heard = tokens({ input: 3, audioInput: 37, output: 12, audioMillis: 20_000 })
const short = { millis: 3_700, basis: "header" } as const

interface Ids {
  readonly usual: RequestId
  readonly factored: RequestId
  readonly priced: RequestId
  readonly left: RequestId
  readonly heard: RequestId
  readonly earlier: RequestId
}

const history = Effect.gen(function* () {
  const organization = yield* funded(10_000_000_000_000)
  const make = (ending: Partial<Parameters<typeof request>[1]>) =>
    request(organization, { outcome: "completed", usage, withFacts: true, rule: null, ...ending })
  const own = { price_usd_per_mtok: { input: 3, output: 20, tiers: [{ above_prompt_tokens: 9, input: 5, output: 1 }] } }
  const byTheHour = { price_usd_per_audio_hour: "0.5", minimum_audio_seconds: 20 }
  return {
    usual: yield* make({}),
    factored: yield* make({ rule: { scope: "organization", charge: { factor: "1.333333" } } }),
    priced: yield* make({ rule: { scope: "model", charge: own } }),
    left: yield* make({ outcome: "client_left", usage: tokens({ output: 1_000_000 }) }),
    heard: yield* make({ usage: heard, audio: short, rule: { scope: "organization_model", charge: byTheHour } }),
    earlier: yield* request(organization, { outcome: "completed", usage, withFacts: true })
  } satisfies Ids
}).pipe(withLedger, Effect.provide(atPrice("2.125")))

/** Changes rows without the triggers that forbid it, as only a superuser can. */
const change = Effect.fnUntraced(function* (statement: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SET LOCAL session_replication_role = replica`
  assert.isNotEmpty(yield* sql.unsafe(`${statement} RETURNING 1`))
})

const ofCharge = (path: string, value: string, id: RequestId) =>
  `UPDATE credit_entry SET facts = jsonb_set(facts, '{${path}}', '${value}') WHERE id = '${id}'`
const ofReceipt = (path: string, value: string, id: RequestId) =>
  `UPDATE request_log SET receipt = jsonb_set(receipt, '{${path}}', '${value}') WHERE id = '${id}'`

type Counts = { readonly [C in CheckName]?: number }

const corruptions: Record<string, { readonly sql: (ids: Ids) => string; readonly counts: Counts }> = {
  "the provider's cost of a charge": {
    sql: ({ factored }) => ofCharge("providerCost", '"1"', factored),
    counts: { provider_cost: 1 }
  },
  "the provider's cost where no rule applies": {
    sql: ({ usual }) => ofCharge("providerCost", '"1"', usual),
    counts: { provider_cost: 1 }
  },
  "the provider's cost of a client that left": {
    sql: ({ left }) => ofCharge("providerCost", '"5000000000"', left),
    counts: { provider_cost: 1 }
  },
  "the provider's cost of audio": {
    sql: ({ heard: id }) => ofCharge("providerCost", '"1"', id),
    counts: { provider_cost: 1 }
  },
  "that there was a provider's cost": {
    sql: ({ priced }) => `UPDATE credit_entry SET facts = facts - 'providerCost' WHERE id = '${priced}'`,
    counts: { provider_cost: 1 }
  },
  "the factor": {
    sql: ({ factored }) => ofCharge("rule,charge,factor", '"1.333334"', factored),
    counts: { charge_facts: 1 }
  },
  "the own price": {
    sql: ({ priced }) => ofCharge("rule,charge,price_usd_per_mtok,tiers,0,output", "2", priced),
    counts: { charge_facts: 1 }
  },
  "that there was a rule": {
    sql: ({ factored }) => `UPDATE credit_entry SET facts = facts - 'rule' WHERE id = '${factored}'`,
    counts: { charge_facts: 1 }
  },
  "the rule to one that does not fit": {
    sql: ({ heard: id }) => ofCharge("rule,charge", '{"price_usd_per_mtok": {"input": 1, "output": 1}}', id),
    counts: { charge_facts: 1 }
  },
  "the usage": {
    sql: ({ factored }) => ofCharge("usage,output", "302", factored),
    counts: { charge_facts: 1, provider_cost: 1 }
  },
  "what was charged": {
    sql: ({ factored }) => `UPDATE credit_entry SET amount = amount - 1 WHERE id = '${factored}'`,
    counts: { account: 1, charge_amount: 1, charge_facts: 1 }
  },
  "the provider's cost on a receipt": {
    sql: ({ priced }) => ofReceipt("providerCost", '"1"', priced),
    counts: { provider_cost: 1 }
  },
  "the divisor of the rates on a receipt": {
    sql: ({ factored }) => ofReceipt("rateDivisor", '"7"', factored),
    counts: { receipt_rates: 1 }
  }
}

describeOnEngines("Audit of what providers bill", (it) => {
  it.effect("finds nothing wrong, also with charges of a version that did not store it", () =>
    Effect.gen(function* () {
      const { factored } = yield* history
      const report = yield* audit
      assert.deepStrictEqual([report.findings, report.counts], [[], {}])
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly amount: bigint; readonly facts: { readonly providerCost: string } }>`
        SELECT -amount AS amount, facts FROM credit_entry WHERE id = ${factored}`
      // A prompt of 210,001 tokens is in the tier of $4 and $16, where what is read from a cache is input.
      const billed = 210_001n * 4_000_000n + 301n * 16_000_000n
      assert.deepStrictEqual(row?.facts.providerCost, String(billed))
      assert.strictEqual(row?.amount, (billed * 1_333_333n + 999_999n) / 1_000_000n)
    })
  )

  for (const [what, { counts, sql }] of Object.entries(corruptions))
    it.effect(`finds that somebody changed ${what}`, () =>
      Effect.gen(function* () {
        const ids = yield* history
        yield* Effect.gen(function* () {
          yield* change(sql(ids))
          const report = yield* audit
          assert.deepStrictEqual(report.counts, counts)
        }).pipe(rolledBack)
      })
    )
})
