/** The log of requests and their receipts, for operators, as JSON and as CSV. */
import { assert } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"

import { fromUsd, picodollars, toUsd } from "../../src/domain/Money.ts"
import { as, eventually, type Json, user } from "../support/Chat.ts"
import { describeGateway, type Reply, type Tenant, TestGateway } from "../support/TestGateway.ts"

const body = { messages: [user("hi")], max_completion_tokens: 5 }
const formula = '=HYPERLINK("http://x";"y")'
const calls = [
  { ...body, model: "gpt-4o-mini", metadata: { call_name: "greeting", end_user_id: formula } },
  { ...body, model: "gpt-4o", metadata: { call_name: "greeting", end_user_id: "-5" } },
  { ...body, metadata: { call_name: "chosen" } },
  { ...body, model: "nobody" }
]
const path = "/admin/v1/requests"
const nobody = "018f0000-0000-7000-8000-00000000dead"

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

const dataOf = (reply: Reply) => ok(reply).at("data") as ReadonlyArray<Json>

/** Makes the calls, and answers their rows once all are stored, the latest first. */
const called = Effect.fnUntraced(function* (tenant: Tenant) {
  const gateway = yield* TestGateway
  for (const call of calls) yield* gateway.chat(call, as(tenant))
  const stored = Effect.map(gateway.admin("GET", `${path}?organization_id=${tenant.organization}`), (reply) => {
    const rows = dataOf(reply)
    return rows.length === calls.length ? rows : undefined
  })
  return yield* eventually(stored, "all requests")
})

/** The cells of a line of CSV without line breaks in them. */
const cellsOf = (line: string): ReadonlyArray<string> =>
  [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"')
  )

describeGateway("The request log of operators", (it) => {
  it.effect("is listed by pages, narrowed, and explains each charge", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const { admin } = gateway
      const tenant = yield* gateway.tenant("1")
      const rows = yield* called(tenant)
      const own = `${path}?organization_id=${tenant.organization}`
      assert.deepStrictEqual(
        rows.map(({ call_name, outcome }) => [call_name, outcome]),
        [
          [null, "invalid_model"],
          ["chosen", "completed"],
          ["greeting", "completed"],
          ["greeting", "completed"]
        ]
      )
      assert.deepInclude(rows[1], { routed: true, requested_model: null, api_key_id: tenant.keyId, stream: false })
      const first = ok(yield* admin("GET", `${own}&limit=3`))
      const second = ok(yield* admin("GET", `${own}&limit=3&cursor=${String(first.at("next_cursor"))}`))
      assert.deepStrictEqual([...dataOf(first), ...dataOf(second)], rows)
      assert.isNull(second.at("next_cursor"))
      const counts: ReadonlyArray<readonly [query: string, count: number]> = [
        ["call_name=greeting", 2],
        ["end_user_id=-5", 1],
        ["model=gpt-4o", 1],
        ["outcome=invalid_model", 1],
        ["routed=true", 1],
        ["routed=false&outcome=completed", 2],
        ["stream=true", 0],
        ["pinned=false", 4],
        ["failed_over=true", 0],
        [`api_key_id=${tenant.keyId}`, 4],
        [`environment_id=${tenant.environment}`, 4],
        [`project_id=${nobody}`, 0],
        [`endpoint=${encodeURIComponent(String(rows[2]?.["endpoint"]))}`, 1],
        [`provider=${String(rows[2]?.["provider"])}&model=gpt-4o`, 1],
        ["min_cost_usd=0.000000000001", 3],
        ["max_cost_usd=0", 1],
        ["min_duration_ms=0&max_duration_ms=1000000000", 4],
        ["min_duration_ms=1000000000", 0],
        ["to=2020-01-01T00:00:00Z", 0]
      ]
      for (const [query, count] of counts) {
        assert.lengthOf(dataOf(yield* admin("GET", `${own}&${query}`)), count, query)
      }
      const receipt = ok(yield* admin("GET", `${path}/${String(rows[1]?.["id"])}`))
      const charge = receipt.at("charge") as ReadonlyArray<{ readonly amount_usd: string }>
      const sum = charge.reduce((total, { amount_usd }) => total + Option.getOrThrow(fromUsd(amount_usd)), 0n)
      assert.strictEqual(toUsd(picodollars(sum)), rows[1]?.["cost_usd"])
      assert.isAbove(Number(sum), 0)
      assert.deepInclude(JSON.parse(receipt.text), {
        object: "request_receipt",
        organization_id: tenant.organization,
        api_key_id: tenant.keyId,
        at: rows[1]?.["at"],
        held_usd: rows[1]?.["held_usd"]
      })
      assert.isNotEmpty(receipt.at("routing.candidates") as ReadonlyArray<unknown>)
      assert.isNotEmpty(receipt.at("attempts") as ReadonlyArray<unknown>)
      assert.strictEqual(receipt.at("id"), rows[1]?.["id"])
      const [used] = dataOf(yield* admin("GET", `/admin/v1/api_keys?organization_id=${tenant.organization}`))
      assert.strictEqual(used?.["last_used_at"], rows[0]?.["at"])
      const unused = yield* gateway.tenant("1")
      assert.isNull(ok(yield* admin("GET", `/admin/v1/api_keys/${unused.keyId}`)).at("last_used_at"))
      ok(yield* admin("GET", `${path}/chatcmpl-${String(rows[1]?.["id"])}`))
    })
  )

  it.effect("is a table for spreadsheets, in which no label is a formula", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const rows = yield* called(tenant)
      const own = `${path}?organization_id=${tenant.organization}`
      const csv = ok(yield* gateway.admin("GET", `${own}&format=csv`))
      assert.strictEqual(csv.headers.get("content-type"), "text/csv; charset=utf-8")
      assert.strictEqual(csv.headers.get("content-disposition"), 'attachment; filename="requests.csv"')
      const [head = "", ...lines] = csv.text.split("\r\n").slice(0, -1)
      const names = cellsOf(head)
      const cells = lines.map((line) => Object.fromEntries(cellsOf(line).map((cell, index) => [names[index], cell])))
      assert.deepStrictEqual(
        cells.map(({ id, cost_usd, end_user_id }) => [id, cost_usd, end_user_id]),
        rows.map(({ id, cost_usd, end_user_id }) => [
          id,
          cost_usd,
          end_user_id === formula ? `'${formula}` : (end_user_id ?? "")
        ])
      )
      const page = ok(yield* gateway.admin("GET", `${own}&limit=2`, undefined, { accept: "text/csv" }))
      assert.lengthOf(page.text.split("\r\n"), 4)
      const none = ok(yield* gateway.admin("GET", `${own}&format=csv&model=nobody`))
      assert.strictEqual(none.text, `${head}\r\n`)
      const json = ok(yield* gateway.admin("GET", `${own}&format=json`, undefined, { accept: "text/csv" }))
      assert.lengthOf(dataOf(json), calls.length)
    })
  )

  it.effect("and the usage are tables for operators and for the holder of a key", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const rows = yield* called(tenant)
      const from = `from=${DateTime.formatIso(DateTime.makeUnsafe(Date.parse(String(rows.at(-1)?.["at"])) - 900_000))}`
      const query = `?${from}&group_by=end_user_id,call_name&format=csv`
      const own = ok(yield* gateway.request("GET", `/v1/usage${query}`, undefined, as(tenant)))
      const all = ok(yield* gateway.admin("GET", `/admin/v1/usage${query}&organization_id=${tenant.organization}`))
      // Operators see two more columns: the provider's cost and the margin.
      assert.match(all.text, /,cost_usd,provider_cost_usd,margin_usd\r\n/)
      assert.sameMembers(own.text.split("\r\n"), all.text.replaceAll(/,[^,\r]*,[^,\r]*(?=\r\n)/g, "").split("\r\n"))
      assert.strictEqual(own.headers.get("content-disposition"), 'attachment; filename="usage.csv"')
      const [head = "", ...lines] = own.text.split("\r\n").slice(0, -1)
      assert.match(head, /^end_user_id,call_name,requests,.*,cost_usd/)
      assert.sameMembers(
        lines.map((line) => cellsOf(line).slice(0, 3).join(" ")),
        [`'${formula} greeting 1`, "-5 greeting 1", " chosen 1", "  1"]
      )
      const hours = ok(yield* gateway.admin("GET", `/admin/v1/usage?${from}&interval=hour&format=csv`))
      assert.match(hours.text, /^start,requests,/)
    })
  )

  it.effect("refuses what it cannot answer, with the field and the rule", () =>
    Effect.gen(function* () {
      const { admin, key, request } = yield* TestGateway
      const cases: ReadonlyArray<readonly [query: string, message: RegExp]> = [
        ["?limit=201", /^limit: /],
        ["?cursor=1", /^cursor: Expected a UUID v7/],
        ["?cursor=2f9b1c1e-8f5e-4b62-9b3c-111111111111", /^cursor: Expected a UUID v7/],
        ["?from=yesterday", /^from: /],
        ["?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", /^from: must be before to/],
        ["?from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", /^from: must be at most 366 days before to/],
        ["?from=1990-01-01T00:00:00Z", /^from: must be at most 366 days before to/],
        ["?organization_id=1", /^organization_id: /],
        ["?min_cost_usd=-1", /^min_cost_usd: /],
        ["?min_cost_usd=2&max_cost_usd=1", /^min_cost_usd: must not be more than max_cost_usd/],
        ["?min_duration_ms=soon", /^min_duration_ms: /],
        ["?min_duration_ms=2&max_duration_ms=1", /^min_duration_ms: must not be more than max_duration_ms/],
        ["?stream=perhaps", /^stream: /],
        ["?format=xml", /^format: /],
        ["?nmae=x", /nmae/],
        ["/1", /^id: must be the id of a request/]
      ]
      for (const [query, message] of cases) {
        const reply = yield* admin("GET", path + query)
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], query + reply.text)
        assert.match(String(reply.at("error.message")), message)
      }
      const unknown = yield* admin("GET", `${path}/${nobody}`)
      assert.deepStrictEqual([unknown.status, unknown.at("error.code")], [404, "not_found"])
      for (const asked of [path, `${path}/${nobody}`, `${path}?format=csv`]) {
        const stranger = yield* request("GET", asked, undefined, { authorization: `Bearer ${key}` })
        assert.deepStrictEqual([stranger.status, stranger.at("error.code")], [401, "unauthorized"])
      }
    })
  )
})
