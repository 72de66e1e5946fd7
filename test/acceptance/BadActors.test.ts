/** Those who ask for what is not theirs, and values that would do harm: a clear error each, and nothing is changed. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { SqlClient } from "effect/sql"

import { WholeApi } from "../../src/api/WholeApi.ts"
import { as, at, eventually, type Json, receiptOf, user } from "../support/Chat.ts"
import { describeGateway, type Reply, type Tenant, TestGateway } from "../support/TestGateway.ts"

const nobody = "018f0000-0000-7000-8000-00000000dead"
const body = { model: "gpt-4o-mini", messages: [user("hi")], max_completion_tokens: 5 }

const refused = (reply: Reply, status: number, code: string, message: RegExp, about: string) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], `${about} ${reply.text}`)
  assert.match(String(reply.at("error.message")), message, about)
}

interface Route {
  readonly method: string
  readonly path: string
}

/** Every route of operators, as the definition of the API has it: one that is added is tried as well. */
const adminRoutes: ReadonlyArray<Route> = (() => {
  const routes: Array<Route> = []
  HttpApi.reflect(WholeApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, path } }) => {
      if (path.startsWith("/admin/")) routes.push({ method, path: path.replaceAll(/:\w+/g, nobody) })
    }
  })
  return routes
})()

/** What operators have set up, as text, and how much they have done. */
const everything = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const read = (what: string) => (table: string) =>
    sql<{ readonly text: string | null }>`SELECT ${sql.literal(what)} AS text FROM ${sql.literal(table)} AS each`
  const tables = ["organization", "project", "environment", "budget", "admin_key", "webhook"]
  const rows = yield* Effect.forEach(tables, read("string_agg(each::text, ' ' ORDER BY each::text)"))
  // The row of a key also has when it was last used.
  const counts = yield* Effect.forEach(["audit_event", "payment", "api_key"], read("count(*)::text"))
  return JSON.stringify([rows, counts])
})

describeGateway("Strangers", (it) => {
  it.effect("open no route of operators, with no key, with any other key, and with that of a tenant", () =>
    Effect.gen(function* () {
      const { request, tenant } = yield* TestGateway
      const { key } = yield* tenant("1")
      assert.isAbove(adminRoutes.length, 40)
      for (const path of ["/admin/v1/providers", "/admin/v1/budgets", "/admin/v1/usage", "/admin/v1/webhooks"])
        assert.isTrue(
          adminRoutes.some((route) => route.path === path),
          path
        )
      const before = yield* everything
      for (const { method, path } of adminRoutes)
        for (const authorization of ["", "Bearer nobody", `Bearer ${key}`, `Basic ${key}`]) {
          const payload = method === "GET" ? undefined : {}
          const reply = yield* request(method, path, payload, { authorization })
          refused(reply, 401, "unauthorized", /^This route takes an admin key/, `${method} ${path}`)
          assert.notInclude(reply.text, key)
        }
      assert.strictEqual(yield* everything, before)
    })
  )

  it.effect("see nothing of another organization", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const [owner, other] = [yield* gateway.tenant("1"), yield* gateway.tenant("1")]
      const answer = yield* gateway.chat(body, as(owner))
      const id = String(answer.at("id"))
      yield* receiptOf(id, owner)
      const asked = (path: string, tenant: Tenant) => gateway.request("GET", path, undefined, as(tenant))
      const before = yield* everything
      const stolen = yield* asked(`/v1/generations/${id}`, other)
      const absent = yield* asked(`/v1/generations/${nobody}`, other)
      refused(stolen, 404, "not_found", /./, "the receipt")
      // Not even that there is one.
      assert.strictEqual(stolen.text.replaceAll(id, nobody), absent.text)
      const from = "from=2026-01-01T00:00:00Z"
      yield* eventually(
        Effect.map(asked(`/v1/usage?${from}`, owner), (reply) =>
          reply.at("data.0.requests") === 1 ? true : undefined
        ),
        "the usage"
      )
      const rows = (reply: Reply) => reply.at("data") as ReadonlyArray<Json>
      for (const query of [from, `${from}&api_key_id=${owner.keyId}`, `${from}&environment_id=${owner.environment}`]) {
        const seen = yield* asked(`/v1/usage?${query}`, other)
        const requests = seen.status === 200 ? rows(seen).map((row) => at(row, "requests")) : [seen.status]
        assert.isTrue(
          requests.every((each) => each === 0 || each === 400 || each === 404),
          `${query} ${seen.text}`
        )
      }
      assert.strictEqual((yield* asked("/v1/credits", other)).at("available_usd"), "1")
      assert.notInclude((yield* asked("/v1/key", other)).text, owner.keyId)
      assert.strictEqual(yield* everything, before)
    })
  )
})

/** Requests of operators that would do harm, with the status, the code and the message. */
const harmful = (tenant: Tenant): ReadonlyArray<readonly [string, string, unknown, number, string, RegExp]> => {
  const credit = `/admin/v1/organizations/${tenant.organization}/credit`
  const payment = { payment_id: "taken", amount_usd: "1", reason: "r" }
  const usage = "/admin/v1/usage?from="
  const requests = "/admin/v1/requests"
  const budgets = "/admin/v1/budgets"
  const budget = { organization_id: tenant.organization, amount_usd: "5", period: "month" }
  const conflict = [409, "idempotency_conflict", /^payment_id: /] as const
  const invalid = (message: RegExp) => [400, "invalid_request", message] as const
  return [
    ["POST", `${credit}/grants`, { ...payment, amount_usd: "2" }, ...conflict],
    ["POST", `${credit}/grants`, { ...payment, amount_usd: "1.000000000001" }, ...conflict],
    ["POST", `${credit}/corrections`, { ...payment, amount_usd: "-1" }, ...conflict],
    ["POST", `${credit}/grants`, { ...payment, payment_id: "p", amount_usd: "-1" }, ...invalid(/^amount_usd: must be/)],
    ["POST", `${credit}/grants`, { ...payment, payment_id: "p", amount_usd: "0" }, ...invalid(/^amount_usd: must be/)],
    ["POST", `${credit}/grants`, { ...payment, payment_id: "p", amount_usd: "9999999" }, ...invalid(/^amount_usd: /)],
    ["POST", `${credit}/grants`, { ...payment, payment_id: "p", amount_usd: "1e3" }, ...invalid(/^amount_usd: /)],
    ["GET", `${usage}0001-01-01T00:00:00Z`, undefined, ...invalid(/^from: must be at most/)],
    ["GET", `${usage}2020-01-01T00:00:00Z&interval=hour`, undefined, ...invalid(/^from: must be at most/)],
    ["GET", `${usage}2026-01-01T00:00:00Z&to=%2B275760-09-13T00:00:00Z`, undefined, ...invalid(/^(from|to): /)],
    ["GET", `${usage}2026-01-01T00:00:00Z&time_zone=Mars/Olympus`, undefined, ...invalid(/^time_zone: /)],
    ["GET", `${usage}2026-01-01T00:00:00Z&time_zone='--`, undefined, ...invalid(/^time_zone: /)],
    ["GET", `${requests}?from=1970-01-01T00:00:00Z`, undefined, ...invalid(/^from: must be at most 366 days/)],
    ["GET", `${requests}?limit=1000000`, undefined, ...invalid(/^limit: /)],
    ["POST", budgets, { ...budget, time_zone: "Europe/Atlantis" }, ...invalid(/^time_zone: /)],
    ["POST", budgets, { ...budget, amount_usd: "-5" }, ...invalid(/^amount_usd: /)]
  ]
}

/** Labels, and the cell that a spreadsheet gets for them. */
const labels = [
  ["=1+1", "'=1+1"],
  ["+1+1", "'+1+1"],
  ["-1+1", "'-1+1"],
  ["@SUM(A1:A9)", "'@SUM(A1:A9)"],
  ["＝1", "'＝1"],
  ["plain=1", "plain=1"]
] as const

describeGateway("Values that would do harm", (it) => {
  it.effect("are refused with the field and the rule, and change nothing", () =>
    Effect.gen(function* () {
      const { admin, tenant } = yield* TestGateway
      const owner = yield* tenant("1")
      const grant = `/admin/v1/organizations/${owner.organization}/credit/grants`
      const first = yield* admin("POST", grant, { payment_id: "taken", amount_usd: "1", reason: "r" })
      assert.strictEqual(first.status, 200, first.text)
      const before = yield* everything
      for (const [method, path, payload, status, code, message] of harmful(owner))
        refused(yield* admin(method, path, payload), status, code, message, `${path} ${JSON.stringify(payload)}`)
      assert.strictEqual(yield* everything, before)
    })
  )

  it.effect("are no formula in a table for spreadsheets, of requests and of usage", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      for (const [label] of labels) {
        const reply = yield* gateway.chat({ ...body, metadata: { call_name: label } }, as(tenant))
        assert.strictEqual(reply.status, 200, reply.text)
      }
      const own = `organization_id=${tenant.organization}&format=csv`
      for (const path of [
        `/admin/v1/requests?${own}`,
        `/admin/v1/usage?${own}&from=2026-01-01T00:00:00Z&group_by=call_name`
      ]) {
        const csv = yield* eventually(
          Effect.map(gateway.admin("GET", path), (reply) =>
            reply.text.split("\r\n").length === labels.length + 2 ? reply.text : undefined
          ),
          "all rows"
        )
        const cells = csv.split(/\r\n|,/)
        for (const [, cell] of labels) assert.include(cells, cell, path)
        assert.isFalse(cells.some((cell) => /^"?[=+@＝]/.test(cell)))
      }
    })
  )
})
