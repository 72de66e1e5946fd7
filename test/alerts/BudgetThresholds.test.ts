import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { Organizations } from "../../src/access/Organizations.ts"
import { checkForAlerts } from "../../src/alerts/AlertChecks.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { usd } from "../support/TestGateway.ts"
import { checkOptions, layerAlerts, sentAlerts, webhookTo } from "./AlertLayers.ts"

const check = checkForAlerts(checkOptions, Effect.void)

/** Two gateways look, a minute after the last time. The time stands still while they do. */
const look = Effect.andThen(TestClock.adjust("1 minute"), Effect.all([check, check], { concurrency: 2 }))

describeOnEngines("BudgetThresholds", (suite) => {
  suite.layer(layerAlerts())((it) => {
    it.effect("are alerted once in each period", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { id, name } = yield* Organizations.use(({ create }) => create("Acme"))
        yield* webhookTo("https://example.com/", { organization: id, events: ["budget.threshold"] })
        const budget = randomUUID()
        yield* sql`
          INSERT INTO budget (id, organization_id, subject, subject_id, amount, period, time_zone, period_start,
            created_at)
          VALUES (${budget}, ${id}, 'organization', ${id}, ${usd("10")}, 'day', 'UTC', '1970-01-01T00:00:00Z', now())`
        const spend = (amount: string, held = "0") =>
          sql`UPDATE budget SET spent = ${usd(amount)}, held = ${usd(held)} WHERE id = ${budget}`
        const percents = Effect.map(sentAlerts(id), (alerts) => alerts.map(({ data }) => data["percent"]))
        yield* spend("7.999999999999", "2")
        yield* look
        assert.deepStrictEqual(yield* percents, [])
        yield* spend("8")
        yield* look
        yield* look
        assert.deepStrictEqual(yield* sentAlerts(id), [
          {
            type: "budget.threshold",
            data: {
              budget_id: budget,
              organization_id: id,
              organization_name: name,
              subject: "organization",
              subject_id: id,
              percent: 80,
              amount_usd: "10",
              spent_usd: "8",
              period: "day",
              time_zone: "UTC",
              period_start: "1970-01-01T00:00:00.000Z",
              renews_at: "1970-01-02T00:00:00.000Z"
            }
          }
        ])
        yield* spend("10.5")
        yield* look
        yield* look
        assert.deepStrictEqual(yield* percents, [80, 100])
        yield* TestClock.adjust("1 day")
        yield* look
        assert.deepStrictEqual(yield* percents, [80, 100])
        yield* sql`UPDATE budget SET spent = ${usd("12")}, period_start = '1970-01-02T00:00:00Z' WHERE id = ${budget}`
        yield* look
        yield* look
        assert.deepStrictEqual(yield* percents, [80, 100, 80, 100])
        yield* sql`UPDATE budget SET removed_at = now() WHERE id = ${budget}`
        yield* look
        assert.deepStrictEqual(yield* sql`SELECT 1 AS found FROM alert_condition`, [])
      })
    )
  })
})
