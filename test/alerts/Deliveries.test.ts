/** Deliveries over a socket: signatures, retries, replicas, and what comes of each. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { Organizations } from "../../src/access/Organizations.ts"
import { Alerts, maxPendingDeliveries } from "../../src/alerts/Alerts.ts"
import { claimLifetime, Deliveries } from "../../src/alerts/Deliveries.ts"
import { DeliveryLog } from "../../src/alerts/DeliveryLog.ts"
import { Webhooks } from "../../src/alerts/Webhooks.ts"
import { answerTimeout } from "../../src/alerts/WebhookSender.ts"
import { organizationId } from "../../src/domain/Ids.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { layerAlerts, webhookTo } from "./AlertLayers.ts"
import { answering, isSigned, makeReceiver } from "./WebhookReceiver.ts"

const statusOf = Effect.fnUntraced(function* (id: Parameters<DeliveryLog["Service"]["get"]>[0]) {
  const { attemptLog, attempts, status } = yield* DeliveryLog.use((log) => log.get(id))
  return { status, attempts, log: attemptLog.map(({ error, status }) => [status, error]) }
})

const nothing = organizationId("018f0000-0000-7000-8000-00000000dead")

const makeTenants = Effect.gen(function* () {
  const { create } = yield* Organizations
  return { organization: (yield* create("Acme")).id, other: (yield* create("Beta")).id }
})

describeOnEngines("Deliveries", (suite) => {
  suite.layer(layerAlerts())((it) => {
    it.effect("are signed as the specification has it, and logged", () =>
      Effect.gen(function* () {
        const { next, url } = yield* makeReceiver()
        const { id, secret } = yield* webhookTo(url)
        const delivery = yield* Alerts.use((alerts) => alerts.test(id))
        assert.strictEqual(yield* Deliveries.use(({ deliverDue }) => deliverDue), 1)
        const message = yield* next
        const sent = JSON.parse(message.body) as Record<string, unknown>
        assert.deepStrictEqual(
          { ...sent, id: undefined },
          { id: undefined, type: "webhook.test", created_at: "1970-01-01T00:00:00.000Z", data: { webhook_id: id } }
        )
        assert.strictEqual(message.headers["webhook-id"], sent["id"])
        assert.strictEqual(message.headers["content-type"], "application/json")
        assert.strictEqual(message.headers["traceparent"], undefined)
        assert.isTrue(yield* Effect.promise(() => isSigned(message, secret)))
        assert.isFalse(yield* Effect.promise(() => isSigned({ ...message, body: `${message.body} ` }, secret)))
        assert.isFalse(yield* Effect.promise(() => isSigned(message, "whsec_bm90IHRoZSBzZWNyZXQ=")))
        assert.deepStrictEqual(yield* statusOf(delivery), {
          status: "delivered",
          attempts: 1,
          log: [[204, undefined]]
        })
      })
    )

    it.effect("are signed with both secrets while one is replaced, and then with the new one alone", () =>
      Effect.gen(function* () {
        const { next, url } = yield* makeReceiver()
        const { id, secret: old } = yield* webhookTo(url)
        const replaced = Redacted.value((yield* Webhooks.use(({ rotate }) => rotate(id, 60))).secret)
        const signers = Effect.fnUntraced(function* () {
          yield* Alerts.use((alerts) => alerts.test(id))
          yield* Deliveries.use(({ deliverDue }) => deliverDue)
          const message = yield* next
          return yield* Effect.promise(() => Promise.all([old, replaced].map((secret) => isSigned(message, secret))))
        })
        assert.deepStrictEqual(yield* signers(), [true, true])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* signers(), [false, true])
      })
    )

    it.effect("are tried again after a failure, later and later, with the same id and body", () =>
      Effect.gen(function* () {
        const key = "sk-abcdefghijklmnop"
        const { received, url } = yield* makeReceiver((response, index) =>
          index === 0
            ? answering(500, `no\n\0 \u0007key ${key} ${"x ".repeat(5_000)}`)(response, index)
            : index === 1
              ? void response.destroy()
              : answering(200)(response, index)
        )
        const { id } = yield* webhookTo(url)
        const { deliverDue, untilDue } = yield* Deliveries
        const delivery = yield* Alerts.use((alerts) => alerts.test(id))
        assert.strictEqual(yield* deliverDue, 1)
        assert.strictEqual(yield* deliverDue, 0)
        yield* TestClock.adjust("7999 millis")
        assert.strictEqual(yield* deliverDue, 0)
        yield* TestClock.adjust("4001 millis")
        assert.strictEqual(yield* deliverDue, 1)
        yield* TestClock.adjust("72 seconds")
        assert.strictEqual(yield* deliverDue, 1)
        assert.isTrue(Option.isNone(yield* untilDue))
        assert.strictEqual(new Set(received.map(({ headers }) => headers["webhook-id"])).size, 1)
        assert.strictEqual(new Set(received.map(({ body }) => body)).size, 1)
        const { attempts, log, status } = yield* statusOf(delivery)
        assert.deepStrictEqual([status, attempts, log.length], ["delivered", 3, 3])
        const answered = String(log[2]?.[1])
        assert.match(answered, /^status 500: no key \[redacted\] x x/)
        assert.isAtMost(answered.length, 1_100)
        assert.match(String(log[1]?.[1]), /^the connection failed/)
      })
    )

    it.effect("are given up after seven attempts, and sent again on request", () =>
      Effect.gen(function* () {
        let isUp = false
        const { url } = yield* makeReceiver((response, index) => answering(isUp ? 200 : 503)(response, index))
        const { id } = yield* webhookTo(url)
        const { deliverDue } = yield* Deliveries
        const delivery = yield* Alerts.use((alerts) => alerts.test(id))
        for (let attempt = 0; attempt < 7; attempt++) {
          assert.strictEqual(yield* deliverDue, 1)
          yield* TestClock.adjust("29 hours")
        }
        assert.strictEqual(yield* deliverDue, 0)
        assert.strictEqual((yield* statusOf(delivery)).status, "failed")
        isUp = true
        yield* DeliveryLog.use((log) => log.redeliver(delivery))
        assert.strictEqual(yield* deliverDue, 1)
        const { attempts, log, status } = yield* statusOf(delivery)
        assert.deepStrictEqual([status, attempts, log.length], ["delivered", 1, 8])
      })
    )

    it.effect("are tried again when no answer comes in time", () =>
      Effect.gen(function* () {
        const { next, url } = yield* makeReceiver((response, index) => (index === 0 ? undefined : response.end()))
        const { id } = yield* webhookTo(url)
        const { deliverDue } = yield* Deliveries
        const delivery = yield* Alerts.use((alerts) => alerts.test(id))
        const attempt = yield* Effect.forkChild(deliverDue)
        yield* next
        yield* TestClock.adjust(answerTimeout)
        yield* Fiber.join(attempt)
        assert.deepStrictEqual((yield* statusOf(delivery)).log, [[undefined, "no answer within 10 seconds"]])
        yield* TestClock.adjust("12 seconds")
        yield* deliverDue
        assert.strictEqual((yield* statusOf(delivery)).status, "delivered")
      })
    )

    it.effect("are given up where their webhook was disabled while they were being queued", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { received, url } = yield* makeReceiver()
        const { id } = yield* webhookTo(url)
        const { deliverDue, untilDue } = yield* Deliveries
        const delivery = yield* Alerts.use((alerts) => alerts.test(id))
        // What is queued in a transaction that began earlier is not seen by the one that disables.
        yield* sql`UPDATE webhook SET disabled_at = now(), disabled_reason = 'operator' WHERE id = ${id}`
        assert.strictEqual(yield* deliverDue, 0)
        assert.deepStrictEqual(yield* statusOf(delivery), { status: "failed", attempts: 0, log: [] })
        assert.isTrue(Option.isNone(yield* untilDue))
        yield* Webhooks.use(({ update }) => update(id, { disabled: false }))
        assert.strictEqual(yield* deliverDue, 0)
        assert.strictEqual(received.length, 0)
      })
    )

    it.effect("are made once by two gateways", () =>
      Effect.gen(function* () {
        const { received, url } = yield* makeReceiver()
        const { id } = yield* webhookTo(url)
        const one = yield* Deliveries
        const other = yield* Deliveries.pipe(Effect.provide(Deliveries.layer))
        const alerts = yield* Alerts
        yield* Effect.forEach(Array.from({ length: 24 }), () => alerts.test(id))
        const drain = ({ deliverDue }: Deliveries["Service"]) =>
          Effect.repeat(deliverDue, { while: (sent) => sent > 0 })
        yield* Effect.all([drain(one), drain(other), drain(one), drain(other)], { concurrency: "unbounded" })
        assert.strictEqual(received.length, 24)
        assert.strictEqual(new Set(received.map(({ headers }) => headers["webhook-id"])).size, 24)
      })
    )

    it.effect("of a gateway that was killed are taken over", () =>
      Effect.gen(function* () {
        const { next, received, url } = yield* makeReceiver((response, index) =>
          index === 0 ? undefined : response.end()
        )
        const { id } = yield* webhookTo(url)
        const { deliverDue } = yield* Deliveries
        const delivery = yield* Alerts.use((alerts) => alerts.test(id))
        const killed = yield* Effect.forkChild(deliverDue)
        yield* next
        yield* Fiber.interrupt(killed)
        assert.strictEqual(yield* deliverDue, 0)
        yield* TestClock.adjust(claimLifetime)
        assert.strictEqual(yield* deliverDue, 1)
        assert.strictEqual((yield* statusOf(delivery)).status, "delivered")
        assert.strictEqual(received[0]?.headers["webhook-id"], received[1]?.headers["webhook-id"])
      })
    )

    it.effect("end when the receiver is gone", () =>
      Effect.gen(function* () {
        const { url } = yield* makeReceiver(answering(410))
        const { id } = yield* webhookTo(url)
        const alerts = yield* Alerts
        const delivery = yield* alerts.test(id)
        yield* Deliveries.use(({ deliverDue }) => deliverDue)
        assert.strictEqual((yield* statusOf(delivery)).status, "failed")
        const { disabledReason } = yield* Webhooks.use(({ get }) => get(id))
        assert.strictEqual(disabledReason, "gone")
        const again = yield* Effect.flip(DeliveryLog.use((log) => log.redeliver(delivery)))
        assert.strictEqual(again.reason._tag, "WebhookDisabled")
        assert.strictEqual((yield* Effect.flip(alerts.test(id))).reason._tag, "WebhookDisabled")
      })
    )

    it.effect("of which too many wait are logged as failed", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { id } = yield* webhookTo("http://127.0.0.1:9/never")
        const alerts = yield* Alerts
        const first = yield* alerts.test(id)
        yield* sql`
          WITH events AS (
            INSERT INTO alert_event (id, type, created_at, expires_at, body)
            SELECT gen_random_uuid(), 'webhook.test', now(), now(), '{}'
            FROM generate_series(2, ${maxPendingDeliveries}::integer) RETURNING id
          )
          INSERT INTO webhook_delivery (id, webhook_id, event_id, status, created_at, next_attempt_at)
          SELECT gen_random_uuid(), ${id}, id, 'pending', now(), now() + interval '1 day' FROM events`
        const last = yield* alerts.test(id)
        assert.strictEqual((yield* statusOf(first)).status, "pending")
        assert.strictEqual((yield* statusOf(last)).status, "failed")
      })
    )

    it.effect("are of a condition once, and again after it has ended", () =>
      Effect.gen(function* () {
        const { received, url } = yield* makeReceiver()
        yield* webhookTo(url)
        const { end, raise } = yield* Alerts
        const condition = { kind: "balance.low", subject: nothing } as const
        const alert = { type: "balance.low", organization: nothing, data: {} } as const
        const raised = yield* Effect.all([raise(condition, alert), raise(condition, alert)], { concurrency: 2 })
        assert.deepStrictEqual(raised.toSorted(), [false, true])
        assert.isTrue(yield* end(condition, Option.none()))
        assert.isFalse(yield* end(condition, Option.none()))
        assert.isTrue(yield* raise(condition, alert))
        yield* Deliveries.use(({ deliverDue }) => deliverDue)
        assert.strictEqual(received.length, 2)
        yield* end(condition, Option.none())
      })
    )

    it.effect("go to those that want the event and may get it", () =>
      Effect.gen(function* () {
        const { organization, other } = yield* makeTenants
        const receivers = yield* Effect.all(Array.from({ length: 5 }, () => makeReceiver()))
        const options = [
          {},
          { organization },
          { organization: other },
          { events: ["ledger.drift"] as const },
          { organization, events: ["budget.threshold"] as const }
        ]
        yield* Effect.forEach(receivers, ({ url }, index) => webhookTo(url, options[index]))
        const { raise } = yield* Alerts
        yield* raise(
          { kind: "balance.low", subject: organization },
          { type: "balance.low", organization, data: { organization_id: organization } }
        )
        yield* raise({ kind: "ledger.drift", subject: organization }, { type: "ledger.drift", data: {} })
        yield* Deliveries.use(({ deliverDue }) => deliverDue)
        const types = receivers.map(({ received }) =>
          received.map(({ body }) => (JSON.parse(body) as { readonly type: string }).type).toSorted()
        )
        assert.deepStrictEqual(types, [["balance.low", "ledger.drift"], ["balance.low"], [], ["ledger.drift"], []])
      })
    )
  })
})
