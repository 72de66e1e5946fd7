import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { Organizations } from "../../src/access/Organizations.ts"
import { checkForAlerts } from "../../src/alerts/AlertChecks.ts"
import type { OrganizationId } from "../../src/domain/Ids.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { usd } from "../support/TestGateway.ts"
import { checkOptions, layerAlerts, sentAlerts, webhookTo } from "./AlertLayers.ts"

const balance = Effect.fnUntraced(function* (organization: OrganizationId, amount: string, held = "0") {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO credit_account (organization_id, balance, held) VALUES (${organization}, ${usd(amount)}, ${usd(held)})
    ON CONFLICT (organization_id) DO UPDATE SET balance = excluded.balance, held = excluded.held`
})

const check = checkForAlerts(checkOptions, Effect.void)

/** Two gateways look, a minute after the last time. The time stands still while they do. */
const look = Effect.andThen(TestClock.adjust("1 minute"), Effect.all([check, check], { concurrency: 2 }))

describeOnEngines("LowBalances", (suite) => {
  suite.layer(layerAlerts())((it) => {
    it.effect("are alerted once, and again only after the balance was up again", () =>
      Effect.gen(function* () {
        const { id, name } = yield* Organizations.use(({ create }) => create("Acme"))
        yield* webhookTo("https://example.com/", { events: ["balance.low"] })
        // One of the two is held: what is held is not spent yet.
        yield* balance(id, "0.4", "0.6")
        yield* look
        assert.deepStrictEqual(yield* sentAlerts(id), [])
        yield* balance(id, "0.25", "0.5")
        yield* look
        yield* look
        const alert = {
          type: "balance.low",
          data: { organization_id: id, organization_name: name, balance_usd: "0.75", threshold_usd: "1" }
        }
        assert.deepStrictEqual(yield* sentAlerts(id), [alert])
        yield* balance(id, "1")
        yield* look
        yield* balance(id, "0.75")
        yield* look
        assert.deepStrictEqual(yield* sentAlerts(id), [alert, alert])
      })
    )

    it.effect("are below the threshold of the organization, if it has one, and of none that is closed", () =>
      Effect.gen(function* () {
        const { create, update } = yield* Organizations
        yield* webhookTo("https://example.com/")
        const [careful, careless, closed] = yield* Effect.all([create("a"), create("b"), create("c")])
        yield* update(careful.id, { lowBalance: usd("50") })
        yield* update(careless.id, { lowBalance: usd("0") })
        yield* update(closed.id, { closed: true })
        yield* balance(careful.id, "49.999999999999")
        yield* balance(careless.id, "0")
        yield* balance(closed.id, "0")
        yield* look
        const alerted = yield* Effect.all([careful, careless, closed].map(({ id }) => sentAlerts(id)))
        assert.deepStrictEqual(
          alerted.map((alerts) => alerts.map(({ data }) => [data["balance_usd"], data["threshold_usd"]])),
          [[["49.999999999999", "50"]], [], []]
        )
        yield* balance(careless.id, "-0.000000000001")
        yield* look
        assert.strictEqual((yield* sentAlerts(careless.id)).length, 1)
      })
    )

    it.effect("are not looked for while no webhook wants them", () =>
      Effect.gen(function* () {
        const { id } = yield* Organizations.use(({ create }) => create("Acme"))
        yield* balance(id, "0")
        yield* webhookTo("https://example.com/", { events: ["ledger.drift"] })
        yield* look
        assert.deepStrictEqual(yield* sentAlerts(id), [])
        yield* webhookTo("https://example.com/", { organization: id })
        yield* look
        assert.strictEqual((yield* sentAlerts(id)).length, 1)
      })
    )
  })
})
