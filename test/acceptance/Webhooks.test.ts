/** The routes of webhooks and their deliveries, and that the gateway itself delivers. */
import { assert } from "@effect/vitest"
import { Effect, Schedule } from "effect"

import { answering, isSigned, makeReceiver } from "../alerts/WebhookReceiver.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"

const path = "/admin/v1/webhooks"
const log = "/admin/v1/webhook_deliveries"
const nobody = "018f0000-0000-7000-8000-00000000dead"
const url = "https://example.com/hook"

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

const data = (reply: Reply) => ok(reply).at("data") as ReadonlyArray<Record<string, unknown>>

const refused = (reply: Reply, status: number, code: string, message: RegExp) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  assert.match(String(reply.at("error.message")), message)
}

const created = Effect.fnUntraced(function* (body: object) {
  const { admin } = yield* TestGateway
  const reply = ok(yield* admin("POST", path, body))
  return { id: String(reply.at("id")), secret: String(reply.at("secret")), reply }
})

/** A delivery once it waits for nothing more. */
const ended = Effect.fnUntraced(function* (id: string) {
  const { admin } = yield* TestGateway
  return yield* Effect.repeat(admin("GET", `${log}/${id}`), {
    until: (reply) => reply.at("status") !== "pending",
    schedule: Schedule.spaced("50 millis"),
    times: 2_000
  })
})

describeGateway(
  "Webhooks",
  (it) => {
    it.effect("show their secret once, and leave it out of lists and of the record of changes", () =>
      Effect.gen(function* () {
        const { admin, logs } = yield* TestGateway
        const { id, reply, secret } = yield* created({ url, events: ["ledger.drift"], description: "pager" })
        assert.match(secret, /^whsec_/)
        assert.deepStrictEqual(
          [reply.at("events"), reply.at("description"), reply.at("organization_id"), reply.at("disabled_at")],
          [["ledger.drift"], "pager", null, null]
        )
        const rotated = String(
          ok(yield* admin("POST", `${path}/${id}/rotate_secret`, { overlap_seconds: 60 })).at("secret")
        )
        assert.notStrictEqual(rotated, secret)
        const found = data(yield* admin("GET", path)).find((entry) => entry["id"] === id)
        assert.deepStrictEqual([found?.["url"], found && "secret" in found], [url, false])
        const changed = ok(yield* admin("PATCH", `${path}/${id}`, { events: null, description: null, disabled: true }))
        assert.deepStrictEqual(
          [changed.at("events"), changed.at("description"), changed.at("disabled_reason")],
          [null, null, "operator"]
        )
        refused(yield* admin("POST", `${path}/${id}/test`), 409, "conflict", /disabled/)
        assert.strictEqual(ok(yield* admin("PATCH", `${path}/${id}`, { disabled: false })).at("disabled_at"), null)
        assert.strictEqual(ok(yield* admin("DELETE", `${path}/${id}`)).at("deleted"), true)
        refused(yield* admin("GET", `${path}/${id}`), 404, "not_found", /webhook/)
        const record = yield* admin("GET", `/admin/v1/audit_events?subject_id=${id}`)
        assert.deepStrictEqual(
          data(record).map(({ action }) => action),
          ["webhook.delete", "webhook.enable", "webhook.disable", "webhook.rotate_secret", "webhook.create"]
        )
        const printed = [record.text, ...(yield* logs)].join("\n")
        for (const hidden of [secret, rotated]) assert.notInclude(printed, hidden.slice("whsec_".length))
      })
    )

    it.effect("get a test event at once, and again on request", () =>
      Effect.gen(function* () {
        const { admin } = yield* TestGateway
        const receiver = yield* makeReceiver((response, index) => answering(index === 0 ? 410 : 200)(response, index))
        const { id, secret } = yield* created({ url: receiver.url })
        const delivery = String(ok(yield* admin("POST", `${path}/${id}/test`)).at("id"))
        assert.isTrue(
          yield* Effect.flatMap(receiver.next, (message) => Effect.promise(() => isSigned(message, secret)))
        )
        const failed = yield* ended(delivery)
        assert.deepStrictEqual(
          [failed.at("status"), failed.at("attempts"), failed.at("webhook_id"), failed.at("attempt_log.0.status")],
          ["failed", 1, id, 410]
        )
        yield* Effect.repeat(admin("GET", `${path}/${id}`), {
          until: (reply) => reply.at("disabled_reason") === "gone",
          schedule: Schedule.spaced("50 millis"),
          times: 2_000
        })
        ok(yield* admin("PATCH", `${path}/${id}`, { disabled: false }))
        assert.strictEqual(ok(yield* admin("POST", `${log}/${delivery}/redeliver`)).at("status"), "pending")
        assert.strictEqual((yield* ended(delivery)).at("status"), "delivered")
        assert.strictEqual(receiver.received[0]?.body, receiver.received[1]?.body)
        assert.strictEqual((yield* ended(delivery)).at("payload"), receiver.received[0]?.body)
        const listed = data(yield* admin("GET", `${log}?webhook_id=${id}&status=delivered&event_type=webhook.test`))
        assert.deepStrictEqual(
          listed.map((entry) => entry["id"]),
          [delivery]
        )
        assert.deepStrictEqual(data(yield* admin("GET", `${log}?webhook_id=${id}&status=failed`)), [])
      })
    )

    it.effect("of an organization are listed with it, and get only what it has", () =>
      Effect.gen(function* () {
        const { admin, tenant } = yield* TestGateway
        const { organization } = yield* tenant("0")
        const { id } = yield* created({ url, organization_id: organization, events: ["balance.low"] })
        const listed = data(yield* admin("GET", `${path}?organization_id=${organization}`))
        assert.deepStrictEqual(
          listed.map((entry) => entry["id"]),
          [id]
        )
        const only = /^events: a webhook of an organization gets balance.low and budget.threshold only$/
        const foreign = { events: ["ledger.drift"] }
        refused(
          yield* admin("POST", path, { url, organization_id: organization, ...foreign }),
          400,
          "invalid_request",
          only
        )
        refused(yield* admin("PATCH", `${path}/${id}`, foreign), 400, "invalid_request", only)
      })
    )

    it.effect("are told of a low balance, below a threshold that an organization can have of its own", () =>
      Effect.gen(function* () {
        const { admin, tenant } = yield* TestGateway
        const { organization } = yield* tenant("0")
        const target = `/admin/v1/organizations/${organization}`
        assert.strictEqual(ok(yield* admin("GET", target)).at("low_balance_usd"), null)
        assert.strictEqual(
          ok(yield* admin("PATCH", target, { low_balance_usd: "12.50" })).at("low_balance_usd"),
          "12.5"
        )
        assert.strictEqual(ok(yield* admin("PATCH", target, { name: "Acme" })).at("low_balance_usd"), "12.5")
        assert.strictEqual(ok(yield* admin("PATCH", target, { low_balance_usd: null })).at("low_balance_usd"), null)
        const negative = /^low_balance_usd: must not be negative$/
        refused(yield* admin("PATCH", target, { low_balance_usd: "-1" }), 400, "invalid_request", negative)
      })
    )

    it.effect("are refused with what is wrong", () =>
      Effect.gen(function* () {
        const { admin, key, request } = yield* TestGateway
        const asCaller = { authorization: `Bearer ${key}` }
        const bad: ReadonlyArray<readonly [Effect.Effect<Reply>, number, string, RegExp]> = [
          [request("GET", path, undefined, asCaller), 401, "unauthorized", /admin key/],
          [request("POST", path, { url }, asCaller), 401, "unauthorized", /admin key/],
          [admin("POST", path, { url: "ftp://example.com" }), 400, "invalid_request", /^url: must begin with https/],
          [admin("POST", path, { url, events: [] }), 400, "invalid_request", /^events/],
          [admin("POST", path, { url, events: ["balance.high"] }), 400, "invalid_request", /^events/],
          [admin("POST", path, { url, secret: "mine" }), 400, "invalid_request", /secret/],
          [admin("POST", path, { url, organization_id: nobody }), 404, "not_found", /organization/],
          [admin("PATCH", `${path}/${nobody}`, { url }), 404, "not_found", /webhook/],
          [admin("DELETE", `${path}/${nobody}`), 404, "not_found", /webhook/],
          [admin("POST", `${path}/${nobody}/test`), 404, "not_found", /webhook/],
          [
            admin("POST", `${path}/${nobody}/rotate_secret`, { overlap_seconds: -1 }),
            400,
            "invalid_request",
            /overlap/
          ],
          [admin("GET", `${log}/${nobody}`), 404, "not_found", /delivery/],
          [admin("POST", `${log}/${nobody}/redeliver`), 404, "not_found", /delivery/],
          [admin("GET", `${log}?status=lost`), 400, "invalid_request", /^status/]
        ]
        for (const [reply, status, code, message] of bad) refused(yield* reply, status, code, message)
      })
    )
  },
  { WEBHOOK_PRIVATE_TARGETS: "true" }
)

describeGateway("Webhooks by default", (it) => {
  it.effect("may not be at an address that is not public", () =>
    Effect.gen(function* () {
      const { admin } = yield* TestGateway
      const { id } = yield* created({ url })
      for (const target of ["https://127.0.0.1/", "https://169.254.169.254/", "https://localhost/"]) {
        refused(
          yield* admin("POST", path, { url: target }),
          400,
          "invalid_request",
          /^url: must lead to a public address/
        )
        refused(yield* admin("PATCH", `${path}/${id}`, { url: target }), 400, "invalid_request", /^url: must lead/)
      }
      refused(yield* admin("POST", path, { url: "http://example.com/" }), 400, "invalid_request", /^url: must begin/)
    })
  )
})
