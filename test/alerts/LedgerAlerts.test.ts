import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { checkForAlerts } from "../../src/alerts/AlertChecks.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { usd } from "../support/TestGateway.ts"
import { checkOptions, layerAlerts, sentAlerts, webhookTo } from "./AlertLayers.ts"

const check = checkForAlerts(checkOptions, Effect.void)

/** Two gateways look, after the journal is due again. The time stands still while they do. */
const look = Effect.andThen(TestClock.adjust("10 minutes"), Effect.all([check, check], { concurrency: 2 }))

/** Alerts about one organization, which the gateway's own webhooks get. */
const alertsAbout = (organization: string) =>
  Effect.map(sentAlerts(), (alerts) => alerts.filter(({ data }) => data["organization_id"] === organization))

describeOnEngines("LedgerAlerts", (suite) => {
  suite.layer(layerAlerts())((it) => {
    it.effect("tell of an account that disagrees with its journal once, and again when it does so again", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* webhookTo("https://example.com/", { events: ["ledger.drift"] })
        const organization = randomUUID()
        yield* sql`
          INSERT INTO credit_entry (id, organization_id, kind, amount)
          VALUES (${randomUUID()}, ${organization}, 'grant', ${usd("5")})`
        yield* sql`INSERT INTO credit_account (organization_id, balance) VALUES (${organization}, ${usd("5")})`
        const setBalance = (amount: string) =>
          sql`UPDATE credit_account SET balance = ${usd(amount)} WHERE organization_id = ${organization}`
        yield* look
        assert.deepStrictEqual(yield* alertsAbout(organization), [])
        yield* setBalance("5.000000000001")
        yield* look
        yield* look
        const drifted = {
          type: "ledger.drift",
          data: {
            organization_id: organization,
            balance_usd: "5.000000000001",
            held_usd: "0",
            entries_usd: "5",
            holds_usd: "0"
          }
        }
        assert.deepStrictEqual(yield* alertsAbout(organization), [drifted])
        yield* setBalance("5")
        yield* look
        yield* setBalance("5.000000000001")
        yield* look
        assert.deepStrictEqual(yield* alertsAbout(organization), [drifted, drifted])
        yield* setBalance("5")
      })
    )

    it.effect("do not scan the journal more often than every ten minutes, on all gateways together", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* webhookTo("https://example.com/")
        yield* look
        const organization = randomUUID()
        yield* sql`INSERT INTO credit_account (organization_id, balance) VALUES (${organization}, ${usd("5")})`
        yield* TestClock.adjust("9 minutes")
        yield* check
        assert.deepStrictEqual(yield* alertsAbout(organization), [])
        yield* TestClock.adjust("1 minute")
        yield* check
        assert.strictEqual((yield* alertsAbout(organization)).length, 1)
        yield* sql`DELETE FROM credit_account WHERE organization_id = ${organization}`
      })
    )

    it.effect("tell of each charge that was set aside, once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* webhookTo("https://example.com/", { events: ["ledger.charge_rejected"] })
        const [organization, request] = [randomUUID(), randomUUID()]
        yield* sql`
          INSERT INTO rejected_charge (id, organization_id, amount, reason)
          VALUES (${request}, ${organization}, ${usd("0.5")}, 'bigint out of range')`
        yield* look
        yield* look
        assert.deepStrictEqual(yield* alertsAbout(organization), [
          {
            type: "ledger.charge_rejected",
            data: {
              request_id: request,
              organization_id: organization,
              amount_usd: "0.5",
              reason: "bigint out of range"
            }
          }
        ])
        yield* sql`DELETE FROM rejected_charge WHERE id = ${request}`
        yield* look
        const left = yield* sql`SELECT 1 AS found FROM alert_condition WHERE kind = 'ledger.charge_rejected'`
        assert.strictEqual(left.length, 0)
      })
    )
  })
})
