/** Charges explain themselves: what they were computed from is stored with them, whatever becomes of their receipts. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { audit, differences, unexplainedCharges } from "../../src/audit/Audit.ts"
import type { CheckName } from "../../src/audit/RequestChecks.ts"
import type { RequestId } from "../../src/domain/Ids.ts"
import { funded, withLedger } from "../ledger/TestLedger.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"
import { atPrice, request, tokens } from "./history.ts"

const usage = tokens({ input: 190_000, cacheRead: 20_000, output: 300, reasoning: 100 })
const transcribed = tokens({ input: 3, audioInput: 37, output: 12, audioMillis: 10_000 })
const short = { millis: 3_700, basis: "header" } as const

interface Ids {
  readonly completed: RequestId
  readonly left: RequestId
  readonly spoken: RequestId
}

const history = Effect.gen(function* () {
  const organization = yield* funded(10_000_000_000_000)
  const withFacts = true
  return {
    completed: yield* request(organization, { outcome: "completed", usage, withFacts }),
    left: yield* request(organization, { outcome: "client_left", usage: tokens({ output: 1_000_000 }), withFacts }),
    spoken: yield* request(organization, { outcome: "completed", usage: transcribed, audio: short, withFacts })
  } satisfies Ids
}).pipe(withLedger, Effect.provide(atPrice("2.125")))

/** Changes rows without the triggers that forbid it, as only a superuser can. */
const change = Effect.fnUntraced(function* (statement: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SET LOCAL session_replication_role = replica`
  assert.isNotEmpty(yield* sql.unsafe(`${statement} RETURNING 1`))
})

const lostReceipts: Record<string, (ids: Ids) => string> = {
  "no receipt, because their gateway was killed": (ids) => `DELETE FROM request_log WHERE id IN (${listOf(ids)})`,
  "the receipt of a later try that failed": (ids) => `UPDATE request_log
    SET receipt = (receipt - 'usage' - 'rates' - 'served') || '{"cost":"0","outcome":"internal_error"}'
    WHERE id IN (${listOf(ids)})`
}

const listOf = (ids: Ids): string =>
  Object.values(ids)
    .map((id) => `'${id}'`)
    .join(", ")

const facts = (path: string, value: string) =>
  `UPDATE credit_entry SET facts = jsonb_set(facts, '{${path}}', '${value}')`

const corruptions: Record<string, { readonly failing: CheckName; readonly sql: (ids: Ids) => string }> = {
  "the tokens of a charge were changed": {
    failing: "charge_facts",
    sql: ({ completed }) => `${facts("usage,output", "301")} WHERE id = '${completed}'`
  },
  "the hold that limits the charge of a client that left was changed": {
    failing: "charge_facts",
    sql: ({ left }) => `${facts("held", '"5000000001"')} WHERE id = '${left}'`
  },
  "the length of the audio of a charge was changed": {
    failing: "charge_facts",
    sql: ({ spoken }) => `${facts("audio,millis", "60000")} WHERE id = '${spoken}'`
  },
  "the facts of a charge were made unreadable": {
    failing: "charge_facts",
    sql: ({ completed }) => `${facts("usage", '"much"')} WHERE id = '${completed}'`
  },
  "a charge names a catalog whose prices are not stored": {
    failing: "unknown_price",
    sql: ({ completed }) => `${facts("catalogVersion", '"nowhere"')} WHERE id = '${completed}'`
  }
}

describeOnEngines("Audit of charges with their facts", (it) => {
  it.effect("finds nothing wrong, and nothing unexplained", () =>
    Effect.gen(function* () {
      yield* history
      const report = yield* audit
      assert.deepStrictEqual([report.findings, differences(report), unexplainedCharges(report)], [[], 0, 0])
    })
  )

  for (const [what, sql] of Object.entries(lostReceipts))
    it.effect(`finds charges explained that have ${what}`, () =>
      Effect.gen(function* () {
        const ids = yield* history
        yield* Effect.gen(function* () {
          yield* change(sql(ids))
          const report = yield* audit
          assert.deepStrictEqual([report.findings, differences(report), unexplainedCharges(report)], [[], 0, 0])
        }).pipe(rolledBack)
      })
    )

  for (const [what, { failing, sql }] of Object.entries(corruptions))
    it.effect(`finds, with or without a receipt, that ${what}`, () =>
      Effect.gen(function* () {
        const ids = yield* history
        for (const deleted of [false, true])
          yield* Effect.gen(function* () {
            yield* change(sql(ids))
            if (deleted) yield* change(`DELETE FROM request_log WHERE id IN (${listOf(ids)})`)
            const report = yield* audit
            assert.deepStrictEqual(report.counts, { [failing]: 1 })
          }).pipe(rolledBack)
      })
    )
})
