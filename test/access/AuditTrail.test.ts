import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"

import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { Organizations } from "../../src/access/Organizations.ts"
import { Projects } from "../../src/access/Projects.ts"
import { Webhooks } from "../../src/alerts/Webhooks.ts"
import { AdjustCredit } from "../../src/gateway/AdjustCredit.ts"
import { Payments } from "../../src/ledger/Payments.ts"
import { layerAlerts } from "../alerts/AlertLayers.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { usd } from "../support/TestGateway.ts"

const layer = AdjustCredit.layer.pipe(
  Layer.provideMerge(Payments.layer),
  Layer.provideMerge(Projects.layer),
  Layer.provideMerge(layerAlerts())
)

const eventsOf = Effect.fnUntraced(function* (subject: string) {
  const { items } = yield* AuditTrail.use((trail) => trail.list({ subject }, { limit: 50 }))
  return items.map(({ action }) => action).toReversed()
})

describeOnEngines("The record of changes", (suite) => {
  suite.layer(layer)((it) => {
    it.effect("has none that leaves an organization, a project or an environment as it is", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const projects = yield* Projects
        const { id } = yield* organizations.create("Acme")
        for (const change of [{ name: "Acme" }, { closed: false }, { requestsPerMinute: null }, { hardCap: false }])
          yield* organizations.update(id, change)
        const [closed] = [yield* organizations.update(id, { closed: true })]
        const again = yield* organizations.update(id, { closed: true })
        assert.deepStrictEqual(again, closed)
        yield* organizations.update(id, { closed: false, name: "Acme Ltd" })
        assert.deepStrictEqual(yield* eventsOf(id), [
          "organization.create",
          "organization.close",
          "organization.reopen"
        ])
        const project = yield* projects.create(id, "web")
        const environment = yield* projects.createEnvironment(project.id, "test")
        for (const name of ["web", "site", "site"]) yield* projects.rename(project.id, name)
        for (const name of ["test", "live", "live"]) yield* projects.renameEnvironment(environment.id, name)
        assert.deepStrictEqual(yield* eventsOf(project.id), ["project.create", "project.rename"])
        assert.deepStrictEqual(yield* eventsOf(environment.id), ["environment.create", "environment.rename"])
      })
    )

    it.effect("has none that leaves a webhook as it is, and every new secret", () =>
      Effect.gen(function* () {
        const webhooks = yield* Webhooks
        const { id, url } = yield* webhooks.create({ url: "https://example.com/hook", events: ["balance.low"] })
        for (const change of [
          { url },
          { disabled: false },
          { description: null },
          { events: ["balance.low"] as const }
        ])
          yield* webhooks.update(id, change)
        for (const disabled of [true, true, false]) yield* webhooks.update(id, { disabled })
        yield* webhooks.rotate(id, 0)
        yield* webhooks.rotate(id, 0)
        assert.deepStrictEqual(yield* eventsOf(id), [
          "webhook.create",
          "webhook.disable",
          "webhook.enable",
          "webhook.rotate_secret",
          "webhook.rotate_secret"
        ])
      })
    )

    it.effect("says of a correction whether it was forced", () =>
      Effect.gen(function* () {
        const { id: organization } = yield* Organizations.use(({ create }) => create("Beta"))
        yield* Organizations.use(({ update }) => update(organization, { hardCap: true }))
        const { book } = yield* AdjustCredit
        const correction = { organization, kind: "correction", reason: "test" } as const
        yield* book({ ...correction, payment: "a", amount: usd("1") })
        yield* book({ ...correction, payment: "b", amount: usd("-2"), isForced: true })
        const { items } = yield* AuditTrail.use((trail) => trail.list({ organization }, { limit: 2 }))
        assert.deepStrictEqual(
          items.map(({ after }) => [after?.["payment_id"], after?.["force"]]),
          [
            ["b", true],
            ["a", undefined]
          ]
        )
      })
    )
  })
})
