/** The routes of operators: organizations, keys, credit, and the record of every change. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { user } from "../support/Chat.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"

const body = { model: "gpt-4o-mini", messages: [user("hi")], max_completion_tokens: 5 }

const asCaller = ({ key }: { readonly key: string }) => ({ authorization: `Bearer ${key}` })

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

const data = (reply: Reply) => ok(reply).at("data") as ReadonlyArray<Record<string, unknown>>

const refused = (reply: Reply, status: number, code: string, message: RegExp) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  assert.match(String(reply.at("error.message")), message)
}

/** An organization with a project, an environment and ten dollars, made as an operator would. */
const newTenant = Effect.fnUntraced(function* (name: string) {
  const { admin } = yield* TestGateway
  const organization = String(ok(yield* admin("POST", "/admin/v1/organizations", { name })).at("id"))
  const project = ok(yield* admin("POST", `/admin/v1/organizations/${organization}/projects`, { name: "shop" }))
  const environment = ok(
    yield* admin("POST", `/admin/v1/projects/${String(project.at("id"))}/environments`, { name: "production" })
  )
  const credit = `/admin/v1/organizations/${organization}/credit`
  ok(yield* admin("POST", `${credit}/grants`, { payment_id: "first", amount_usd: "10", reason: "contract" }))
  return { organization, credit, environment: String(environment.at("id")) }
})

const newKey = Effect.fnUntraced(function* (environment: string, options: object = {}) {
  const { admin } = yield* TestGateway
  const issued = ok(yield* admin("POST", "/admin/v1/api_keys", { environment_id: environment, name: "ci", ...options }))
  return { id: String(issued.at("id")), key: String(issued.at("secret")) }
})

const nobody = "018f0000-0000-7000-8000-00000000dead"

/** Requests that are refused, with the status, the code and the message. */
const badRequests = Effect.fnUntraced(function* (tenant: {
  organization: string
  credit: string
  environment: string
}) {
  const { admin, key, request } = yield* TestGateway
  const { credit, environment, organization } = tenant
  const path = "/admin/v1/organizations"
  const keys = "/admin/v1/api_keys"
  const bad: ReadonlyArray<readonly [Effect.Effect<Reply>, number, string, RegExp]> = [
    [request("GET", path), 401, "unauthorized", /admin key/],
    [request("GET", path, undefined, { authorization: `Bearer ${key}` }), 401, "unauthorized", /admin key/],
    [request("GET", path, undefined, { authorization: "" }), 401, "unauthorized", /admin key/],
    [admin("POST", path, { name: " " }), 400, "invalid_request", /^name: /],
    [admin("POST", path, { name: "x".repeat(201) }), 400, "invalid_request", /^name: /],
    [admin("POST", path, { name: "x", credit: 5 }), 400, "invalid_request", /credit/],
    [admin("POST", path, "{"), 400, "invalid_request", /./],
    [admin("GET", `${path}?limit=201`), 400, "invalid_request", /^limit: /],
    [admin("GET", `${path}?cursor=1`), 400, "invalid_request", /^cursor: /],
    [admin("GET", `${path}?nmae=x`), 400, "invalid_request", /nmae/],
    [admin("GET", `${path}/${nobody}`), 404, "not_found", /organization/],
    [admin("GET", `${path}/1`), 400, "invalid_request", /^id: /],
    [admin("POST", keys, { environment_id: nobody, name: "x" }), 404, "not_found", /environment/],
    [
      admin("POST", keys, { environment_id: environment, name: "x", models: ["gpt-9"] }),
      400,
      "invalid_request",
      /^models\[0\]: /
    ],
    [
      admin("POST", keys, { environment_id: environment, name: "x", requests_per_minute: 0 }),
      400,
      "invalid_request",
      /^requests_per_minute: /
    ],
    [
      admin("POST", `${credit}/grants`, { payment_id: "p", amount_usd: "-1", reason: "r" }),
      400,
      "invalid_request",
      /^amount_usd: must be more than zero/
    ],
    [
      admin("POST", `${credit}/grants`, { payment_id: "p", amount_usd: 1, reason: "r" }),
      400,
      "invalid_request",
      /^amount_usd: /
    ],
    [
      admin("POST", `${credit}/corrections`, { payment_id: "p", amount_usd: "0", reason: "r" }),
      400,
      "invalid_request",
      /^amount_usd: must not be zero/
    ],
    [
      admin("POST", `${credit}/grants`, { payment_id: "", amount_usd: "1", reason: "r" }),
      400,
      "invalid_request",
      /^payment_id: /
    ],
    [
      admin("POST", `${path}/${nobody}/credit/grants`, { payment_id: "p", amount_usd: "1", reason: "r" }),
      404,
      "not_found",
      /organization/
    ],
    [admin("POST", `${path}/${organization}/projects`, { name: "shop" }), 409, "conflict", /^name: "shop" is taken/]
  ]
  return bad
})

describeGateway("Administration", (it) => {
  it.effect("opens an organization, gives it a key and credit, and closes it", () =>
    Effect.gen(function* () {
      const { admin, chat } = yield* TestGateway
      const { credit, environment, organization } = yield* newTenant("Acme")
      const { id, key } = yield* newKey(environment, { models: ["gpt-4o-mini"], label: "build server" })
      ok(yield* chat(body, asCaller({ key })))
      refused(yield* chat({ ...body, model: "gpt-4o" }, asCaller({ key })), 403, "model_not_allowed", /gpt-4o/)
      const listed = data(yield* admin("GET", `/admin/v1/api_keys?organization_id=${organization}`))
      assert.deepStrictEqual(
        listed.map((entry) => [entry["id"], entry["label"], entry["models"], "secret" in entry]),
        [[id, "build server", ["gpt-4o-mini"], false]]
      )
      const journal = data(yield* admin("GET", `${credit}/journal`))
      assert.deepStrictEqual(
        journal.map(({ kind, payment_id }) => [kind, payment_id]),
        [
          ["charge", null],
          ["grant", "first"]
        ]
      )
      ok(yield* admin("PATCH", `/admin/v1/organizations/${organization}`, { closed: true }))
      const outcome = chat(body, asCaller({ key })).pipe(
        Effect.delay("100 millis"),
        Effect.repeat({ until: (reply) => reply.status === 401, times: 50 })
      )
      refused(yield* outcome, 401, "unauthorized", /key/)
      const events = data(yield* admin("GET", `/admin/v1/audit_events?organization_id=${organization}`))
      assert.deepStrictEqual(events.map(({ action }) => action).reverse(), [
        "organization.create",
        "project.create",
        "environment.create",
        "credit.grant",
        "api_key.issue",
        "organization.close"
      ])
      assert.deepStrictEqual(events[0]?.["actor"], { name: "ADMIN_API_KEY", admin_key_id: null })
      assert.notInclude(JSON.stringify(events), key)
      assert.notInclude(JSON.stringify(events), "sha256")
    })
  )

  it.effect("books a payment once, whatever is sent twice, and refuses another amount under its id", () =>
    Effect.gen(function* () {
      const { admin } = yield* TestGateway
      const { credit } = yield* newTenant("Payments")
      const payment = { payment_id: "inv-1", amount_usd: "2.5", reason: "invoice" }
      const both = yield* Effect.all(
        [1, 2, 3, 4].map(() => admin("POST", `${credit}/grants`, payment)),
        {
          concurrency: "unbounded"
        }
      )
      assert.sameMembers(
        both.map((reply) => ok(reply).at("booked")),
        [true, false, false, false]
      )
      const conflicts = [
        admin("POST", `${credit}/grants`, { ...payment, amount_usd: "2.6" }),
        admin("POST", `${credit}/corrections`, payment)
      ]
      for (const conflict of conflicts) refused(yield* conflict, 409, "idempotency_conflict", /^payment_id: /)
      const correction = { payment_id: "c-1", amount_usd: "-0.5", reason: "overcharged twice" }
      const corrected = ok(yield* admin("POST", `${credit}/corrections`, correction))
      assert.strictEqual(corrected.at("balance.available_usd"), "12")
    })
  )

  it.effect("rotates a key with an overlap, after which only the new one is valid", () =>
    Effect.gen(function* () {
      const { admin, chat } = yield* TestGateway
      const { environment } = yield* newTenant("Rotation")
      const old = yield* newKey(environment, { requests_per_minute: 77 })
      const rotated = ok(yield* admin("POST", `/admin/v1/api_keys/${old.id}/rotate`, { overlap_seconds: 3_600 }))
      const fresh = { key: String(rotated.at("secret")) }
      assert.strictEqual(rotated.at("requests_per_minute"), 77)
      assert.isNull(rotated.at("expires_at"))
      for (const each of [old, fresh]) ok(yield* chat(body, asCaller(each)))
      const before = ok(yield* admin("GET", `/admin/v1/api_keys/${old.id}`))
      assert.isAbove(Date.parse(String(before.at("expires_at"))), 0)
      ok(yield* admin("POST", `/admin/v1/api_keys/${old.id}/rotate`, { overlap_seconds: 0 }))
      refused(
        yield* admin("POST", `/admin/v1/api_keys/${old.id}/rotate`, { overlap_seconds: 0 }),
        409,
        "conflict",
        /expired/
      )
      ok(yield* chat(body, asCaller(fresh)))
    })
  )

  it.effect("names the operator of a change by the admin key, until that key is revoked", () =>
    Effect.gen(function* () {
      const { admin, request } = yield* TestGateway
      const issued = ok(yield* admin("POST", "/admin/v1/admin_keys", { name: "Ada" }))
      const own = { authorization: `Bearer ${String(issued.at("secret"))}` }
      const organization = ok(yield* request("POST", "/admin/v1/organizations", { name: "hers" }, own)).at("id")
      const [event] = data(yield* admin("GET", `/admin/v1/audit_events?subject_id=${String(organization)}`))
      assert.deepStrictEqual(event?.["actor"], { name: "Ada", admin_key_id: issued.at("id") })
      ok(yield* admin("POST", `/admin/v1/admin_keys/${String(issued.at("id"))}/revoke`))
      const outcome = request("GET", "/admin/v1/organizations", undefined, own).pipe(
        Effect.delay("100 millis"),
        Effect.repeat({ until: (reply) => reply.status === 401, times: 50 })
      )
      refused(yield* outcome, 401, "unauthorized", /admin key/)
    })
  )

  it.effect("turns pages that neither repeat nor leave out", () =>
    Effect.gen(function* () {
      const { admin } = yield* TestGateway
      const names = Array.from({ length: 7 }, (_, index) => `Page ${index}`)
      for (const name of names) ok(yield* admin("POST", "/admin/v1/organizations", { name }))
      const seen: Array<unknown> = []
      let cursor: unknown = ""
      while (cursor !== null) {
        const after = cursor === "" ? "" : `&cursor=${String(cursor)}`
        const page = yield* admin("GET", `/admin/v1/organizations?name=page%20&limit=3${after}`)
        seen.push(...data(page).map(({ name }) => name))
        cursor = page.at("next_cursor")
      }
      assert.sameMembers(seen, names)
    })
  )

  it.effect("refuses bad input and strangers with the field and the rule, and changes nothing", () =>
    Effect.gen(function* () {
      const { admin } = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const tenant = yield* newTenant("Strict")
      const newest = sql<{ readonly id: string }>`SELECT id FROM audit_event ORDER BY id DESC LIMIT 1`
      const before = yield* newest
      for (const [reply, status, code, message] of yield* badRequests(tenant))
        refused(yield* reply, status, code, message)
      assert.deepStrictEqual(yield* newest, before)
      assert.strictEqual(ok(yield* admin("GET", tenant.credit)).at("available_usd"), "10")
    })
  )
})
