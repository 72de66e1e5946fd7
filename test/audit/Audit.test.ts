import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { audit, differences, unexplainedCharges } from "../../src/audit/Audit.ts"
import type { CheckName, Finding } from "../../src/audit/RequestChecks.ts"
import type { OrganizationId, RequestId } from "../../src/domain/Ids.ts"
import { funded, newRequest, withLedger } from "../ledger/TestLedger.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"
import { atPrice, request, tokens } from "./history.ts"

const small = tokens({ input: 1_000, cacheRead: 500, cacheWrite5m: 20, output: 300, reasoning: 100 })
const large = tokens({ input: 190_000, cacheRead: 20_000, output: 50 })

const short = { millis: 3_700, basis: "header" } as const
const transcribed = tokens({ input: 3, audioInput: 37, output: 12, audioMillis: 10_000 })

interface History {
  readonly organization: OrganizationId
  readonly other: OrganizationId
  readonly completed: RequestId
  readonly left: RequestId
  readonly refunded: RequestId
  readonly spoken: RequestId
}

/** The number of charges in a long history. */
const many = 10_000

let histories = 0

/** Requests that end in every possible way, at three prices, of which the first two are used by no other history. */
const history = Effect.gen(function* () {
  const fraction = String(++histories).padStart(6, "0")
  const organization = yield* funded(10_000_000_000_000)
  const other = yield* funded(1)
  const ended = (outcome: string, usage: typeof small | undefined) => request(organization, { outcome, usage })
  const completed = yield* Effect.provide(ended("completed", small), atPrice(`1.${fraction}`), { local: true })
  const spoken = yield* request(organization, { outcome: "completed", usage: transcribed, audio: short }).pipe(
    Effect.provide(atPrice(`3.${fraction}`), { local: true })
  )
  return yield* Effect.gen(function* () {
    yield* ended("completed", small)
    yield* ended("completed", large)
    yield* ended("completed", tokens({}))
    const left = yield* ended("client_left", tokens({ output: 1_000_000 }))
    const refunded = yield* ended("broken", undefined)
    yield* ended("insufficient_credits", undefined)
    return { organization, other, completed, left, refunded, spoken } satisfies History
  }).pipe(Effect.provide(atPrice("2"), { local: true }))
}).pipe(withLedger)

interface Corruption {
  readonly failing: CheckName | ReadonlyArray<CheckName>
  readonly sql: (history: History) => string
}

const corruptions: Record<string, Corruption> = {
  "an entry was changed": {
    failing: ["account", "charge_amount"],
    sql: ({ completed }) => `UPDATE credit_entry SET amount = amount + 1 WHERE id = '${completed}'`
  },
  "a charge was deleted": {
    failing: ["account", "missing_charge"],
    sql: ({ completed }) => `DELETE FROM credit_entry WHERE id = '${completed}'`
  },
  "a balance was changed": {
    failing: "account",
    sql: ({ organization }) =>
      `UPDATE credit_account SET balance = balance + 1 WHERE organization_id = '${organization}'`
  },
  "money was moved from the balance to the held part": {
    failing: "account",
    sql: ({ organization }) =>
      `UPDATE credit_account SET balance = balance - 1, held = held + 1 WHERE organization_id = '${organization}'`
  },
  "an account was deleted": {
    failing: "account",
    sql: ({ organization }) => `DELETE FROM credit_account WHERE organization_id = '${organization}'`
  },
  "a receipt's cost was changed": {
    failing: ["receipt_cost", "charge_amount"],
    sql: ({ completed }) => `UPDATE request_log SET receipt = receipt || '{"cost":"1"}' WHERE id = '${completed}'`
  },
  "a receipt's tokens were changed": {
    failing: "receipt_cost",
    sql: ({ completed }) =>
      `UPDATE request_log SET receipt = jsonb_set(receipt, '{usage,output}', '301') WHERE id = '${completed}'`
  },
  "the cost on the receipt of a client that left was changed": {
    failing: ["receipt_cost", "charge_amount"],
    sql: ({ left }) => `UPDATE request_log SET receipt = receipt || '{"cost":"5000000001"}' WHERE id = '${left}'`
  },
  "a refunded request's receipt was given a cost": {
    failing: "receipt_cost",
    sql: ({ refunded }) => `UPDATE request_log SET receipt = receipt || '{"cost":"1"}' WHERE id = '${refunded}'`
  },
  "the billed time on a receipt was changed": {
    failing: ["receipt_time", "receipt_cost"],
    sql: ({ spoken }) =>
      `UPDATE request_log SET receipt = jsonb_set(receipt, '{usage,audioMillis}', '10001') WHERE id = '${spoken}'`
  },
  "the billed time on a receipt was removed": {
    failing: ["receipt_time", "receipt_cost"],
    sql: ({ spoken }) => `UPDATE request_log SET receipt = receipt #- '{usage,audioMillis}' WHERE id = '${spoken}'`
  },
  "a receipt's audio is longer than what was billed": {
    failing: "receipt_time",
    sql: ({ spoken }) =>
      `UPDATE request_log SET receipt = jsonb_set(receipt, '{audio,millis}', '60000') WHERE id = '${spoken}'`
  },
  "a stored price by time was changed": {
    failing: ["receipt_rates", "receipt_cost"],
    sql: ({ spoken }) => `UPDATE price_list SET price = jsonb_set(price, '{rates,audioHour}', '"7"')
      WHERE endpoint = 'acme/acme-transcribe'
        AND catalog_version = (SELECT receipt->>'catalogVersion' FROM request_log WHERE id = '${spoken}')`
  },
  "a receipt was made unreadable": {
    failing: "unreadable_receipt",
    sql: ({ completed }) =>
      `UPDATE request_log SET receipt = receipt || '{"durationMillis":"long"}' WHERE id = '${completed}'`
  },
  "a stored price was changed": {
    failing: ["receipt_rates", "receipt_cost"],
    sql: ({ completed }) => `UPDATE price_list SET price = jsonb_set(price, '{rates,output}', '"7"')
      WHERE catalog_version = (SELECT receipt->>'catalogVersion' FROM request_log WHERE id = '${completed}')`
  },
  "a stored price was deleted": {
    failing: "unknown_price",
    sql: ({ completed }) => `DELETE FROM price_list
      WHERE catalog_version = (SELECT receipt->>'catalogVersion' FROM request_log WHERE id = '${completed}')`
  },
  "a refunded request was charged": {
    failing: ["account", "unowed_charge"],
    sql: ({ organization, refunded }) => chargeOf(refunded, organization)
  },
  "another organization was charged as well": {
    failing: ["account", "repeated_charge"],
    sql: ({ completed, other }) => chargeOf(completed, other)
  },
  "a charge was moved to another organization": {
    failing: ["account", "misplaced_charge"],
    sql: ({ completed, other }) => `UPDATE credit_entry SET organization_id = '${other}' WHERE id = '${completed}'`
  },
  "a hold was left behind by a settled request": {
    failing: ["account", "ended_hold"],
    sql: ({ completed, organization }) => holdOf(completed, organization, "1 hour")
  },
  "a hold was left behind by a refunded request": {
    failing: ["account", "ended_hold"],
    sql: ({ organization, refunded }) => holdOf(refunded, organization, "1 hour")
  },
  "a budget holds what no request holds": {
    failing: ["budget"],
    sql: ({ organization }) => `INSERT INTO budget
        (id, organization_id, subject, subject_id, amount, held, period, time_zone, period_start, created_at)
      VALUES (gen_random_uuid(), '${organization}', 'api_key', gen_random_uuid(), 9, 7, 'total', 'UTC', now(), now())`
  },
  "a hold was left behind by a dead gateway": {
    failing: ["account", "stray_hold"],
    sql: ({ organization }) => holdOf(newRequest(), organization, "-1 second")
  }
}

const chargeOf = (request: RequestId, organization: OrganizationId) =>
  `INSERT INTO credit_entry (id, organization_id, kind, amount)
   VALUES ('${request}', '${organization}', 'charge', -7)`

const holdOf = (request: RequestId, organization: OrganizationId, expires: string) =>
  `INSERT INTO credit_hold (id, organization_id, amount, gateway_id, expires_at)
   VALUES ('${request}', '${organization}', 7, gen_random_uuid(), now() + interval '${expires}')`

const checksIn = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  [...new Set(findings.map(({ check }) => check))].sort()

/** Changes rows without the triggers that forbid it, as only a superuser can. */
const corrupt = Effect.fnUntraced(function* (statement: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SET LOCAL session_replication_role = replica`
  const changed = yield* sql.unsafe(`${statement} RETURNING 1`)
  assert.isNotEmpty(changed)
})

describeOnEngines("Audit", (it) => {
  it.effect(
    "finds nothing wrong in a history of requests that ended in every way, at prices that have changed since",
    () =>
      Effect.gen(function* () {
        yield* history
        const { findings, ...report } = yield* audit
        assert.deepStrictEqual([findings, report.counts], [[], {}])
        assert.deepStrictEqual([report.accounts, report.holds, report.receipts, report.charges], [2, 0, 8, 6])
      })
  )

  for (const [what, { failing, sql }] of Object.entries(corruptions))
    it.effect(`finds that ${what}`, () =>
      Effect.gen(function* () {
        const made = yield* history
        yield* Effect.gen(function* () {
          yield* corrupt(sql(made))
          const report = yield* audit
          assert.deepStrictEqual(checksIn(report.findings), [failing].flat().sort())
          assert.isAtLeast(differences(report), 1)
          const requests = new Set(report.findings.flatMap(({ request }) => request ?? []))
          assert.isAtMost(requests.size, 1)
        }).pipe(rolledBack)
      })
    )

  it.effect("reports a charge without a receipt, and does not count it as a difference", () =>
    Effect.gen(function* () {
      const { completed } = yield* history
      yield* Effect.gen(function* () {
        yield* corrupt(`DELETE FROM request_log WHERE id = '${completed}'`)
        const report = yield* audit
        assert.deepStrictEqual([differences(report), unexplainedCharges(report)], [0, 1])
        assert.strictEqual(report.findings[0]?.request, completed)
      }).pipe(rolledBack)
    })
  )

  it.effect("allows the records of a request one minute to be stored while a gateway is running", () =>
    Effect.gen(function* () {
      const { completed, left } = yield* history
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        yield* corrupt(`DELETE FROM request_log WHERE id = '${completed}'`)
        yield* sql`INSERT INTO gateway_lease (id) VALUES (gen_random_uuid())`
        const young = yield* audit
        assert.deepStrictEqual([young.counts, young.settling >= 1], [{}, true])
        yield* corrupt(
          `UPDATE credit_entry SET at = at - interval '61 seconds' WHERE id IN ('${completed}', '${left}')`
        )
        assert.deepStrictEqual((yield* audit).counts, { unexplained_charge: 1 })
      }).pipe(rolledBack)
    })
  )

  it.effect("counts all findings and lists the first hundred of each check", () =>
    Effect.gen(function* () {
      const { completed } = yield* history
      yield* Effect.gen(function* () {
        yield* corrupt(`INSERT INTO credit_entry (id, organization_id, kind, amount)
          SELECT gen_random_uuid(), gen_random_uuid(), 'charge', -1 FROM generate_series(1, 250)`)
        yield* corrupt(`DELETE FROM price_list WHERE catalog_version =
          (SELECT receipt->>'catalogVersion' FROM request_log WHERE id = '${completed}')`)
        const report = yield* audit
        assert.deepStrictEqual(report.counts, { account: 250, unexplained_charge: 250, unknown_price: 1 })
        assert.lengthOf(report.findings, 201)
      }).pipe(rolledBack)
    })
  )

  it.effect("reads ten thousand charges in pages, and finds the one that is wrong", () =>
    Effect.gen(function* () {
      const { completed, organization } = yield* history
      const before = yield* audit
      yield* Effect.gen(function* () {
        yield* corrupt(`
          WITH copy AS MATERIALIZED (SELECT gen_random_uuid() AS id FROM generate_series(1, ${many})),
          booked AS (
            INSERT INTO credit_entry (id, organization_id, kind, amount)
            SELECT copy.id, organization_id, kind, amount FROM copy, credit_entry WHERE credit_entry.id = '${completed}'
            RETURNING amount
          ), paid AS (
            UPDATE credit_account SET balance = balance + (SELECT sum(amount) FROM booked)
            WHERE organization_id = '${organization}'
          )
          INSERT INTO request_log (id, organization_id, at, receipt)
          SELECT copy.id, organization_id, at, receipt || jsonb_build_object('id', copy.id)
          FROM copy, request_log WHERE request_log.id = '${completed}'`)
        const clean = yield* audit
        assert.deepStrictEqual([clean.counts, clean.charges - before.charges], [{}, many])
        yield* corrupt(`UPDATE request_log SET receipt = receipt || '{"cost":"1"}'
          WHERE id = (SELECT id FROM request_log ORDER BY id DESC LIMIT 1)`)
        assert.deepStrictEqual((yield* audit).counts, { receipt_cost: 1, charge_amount: 1 })
      }).pipe(rolledBack)
    })
  )
})

describeOnEngines(
  "Audit of working gateways",
  (it) => {
    it.effect("reads one snapshot, in which everything agrees", () =>
      Effect.gen(function* () {
        const organization = yield* funded(10_000_000_000_000)
        const usage = small
        const working = request(organization, { outcome: "completed", usage }).pipe(Effect.forever, (forever) =>
          Effect.all(
            Array.from({ length: 16 }, () => forever),
            { concurrency: "unbounded", discard: true }
          )
        )
        const auditing = Effect.gen(function* () {
          const reports = [yield* audit]
          const grew = () => (reports.at(-1)?.charges ?? 0) > (reports[0]?.charges ?? 0)
          while (reports.length < 10 || !grew()) reports.push(yield* audit)
          return reports
        })
        const reports = yield* Effect.raceFirst(auditing, Effect.andThen(working, Effect.never))
        for (const report of reports) assert.deepStrictEqual([report.counts, report.findings], [{}, []])
      }).pipe(Effect.provide(atPrice("3")), withLedger)
    )
  },
  { liveClock: true }
)
