/** Budgets as operators set them and as the holders of keys meet them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { RateLimitError } from "openai"

import { apiKeyId } from "../../src/domain/Ids.ts"
import { as, eventually, user } from "../support/Chat.ts"
import { tenantOnSpentBudget } from "../support/SpentBudget.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"
import { transcribeWith } from "../support/TranscriptionForms.ts"

const budgets = "/admin/v1/budgets"
const body = { model: "gpt-4o-mini", messages: [user("hi")], max_completion_tokens: 5 }
const nobody = "018f0000-0000-7000-8000-00000000dead"

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

const refused = (reply: Reply, status: number, code: string, message: RegExp) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  assert.match(String(reply.at("error.message")), message)
}

const left = (key: Reply) => (ok(key).at("budgets") as ReadonlyArray<Record<string, unknown>>)[0]?.["left_usd"]

describeGateway("Budgets of keys", (it) => {
  it.effect("let a key spend them and no more, and tell its holder so, until they are raised or removed", () =>
    Effect.gen(function* () {
      const { admin, chat, request, tenant } = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const owner = yield* tenant("10")
      const { keyId: api_key_id, organization } = owner
      const created = ok(yield* admin("POST", budgets, { api_key_id, amount_usd: "0.000001", period: "total" }))
      const id = String(created.at("id"))
      assert.deepInclude(JSON.parse(created.text), {
        object: "budget",
        organization_id: organization,
        subject: "api_key",
        project_id: null,
        api_key_id,
        time_zone: "UTC",
        spent_usd: "0",
        left_usd: "0.000001",
        renews_at: null,
        removed_at: null
      })
      ok(yield* chat(body, as(owner)))
      const spent = yield* chat(body, as(owner))
      refused(spent, 429, "budget_exceeded", /^The total budget of this API key \(0\.000001 USD, UTC\) .* not renew$/)
      assert.deepStrictEqual([spent.headers.get("x-should-retry"), spent.headers.get("retry-after")], ["false", null])
      const listed = ok(yield* admin("GET", `${budgets}?api_key_id=${api_key_id}&removed=false`))
      assert.strictEqual(listed.at("next_cursor"), null)
      const shown = ok(yield* admin("GET", `${budgets}/${id}`))
      assert.deepStrictEqual(listed.at("data"), [JSON.parse(shown.text)])
      assert.strictEqual(left(yield* request("GET", "/v1/key", undefined, as(owner))), shown.at("left_usd"))
      assert.match(String(shown.at("left_usd")), /^-0\.0000/)
      ok(yield* admin("PATCH", `${budgets}/${id}`, { amount_usd: "1" }))
      ok(yield* chat(body, as(owner)))
      ok(yield* admin("PATCH", `${budgets}/${id}`, { amount_usd: "0.000001" }))
      refused(yield* chat(body, as(owner)), 429, "budget_exceeded", /./)
      assert.isString(ok(yield* admin("DELETE", `${budgets}/${id}`)).at("removed_at"))
      ok(yield* chat(body, as(owner)))
      const trail = yield* admin("GET", `/admin/v1/audit_events?subject_id=${id}`)
      const events = ok(trail).at("data") as ReadonlyArray<Record<string, unknown>>
      assert.sameMembers(
        events.map(({ action }) => action),
        ["budget.remove", "budget.update", "budget.update", "budget.create"]
      )
      const open = sql`SELECT request_id FROM budget_hold`
      yield* eventually(
        Effect.map(open, ({ length }) => (length === 0 ? true : undefined)),
        "the end of what is held of budgets"
      )
    })
  )

  it.effect("refuse streams and transcriptions as well, and OpenAI's client gives up at once", () =>
    Effect.gen(function* () {
      const { chat, url } = yield* TestGateway
      const owner = yield* tenantOnSpentBudget
      const message =
        /^The monthly budget of this API key \(1 USD, UTC\) .* 1\.0004 USD are spent\. It renews at \d{4}-\d\d-01T00:00/
      const keyed = { ...as(owner), "idempotency-key": "refused" }
      for (const reply of [
        yield* chat({ ...body, stream: true }, as(owner)),
        yield* transcribeWith({}, as(owner)),
        yield* chat(body, keyed)
      ]) {
        refused(reply, 429, "budget_exceeded", message)
        assert.strictEqual(reply.headers.get("x-should-retry"), "false")
        assert.isAbove(Number(reply.headers.get("retry-after")), 0)
      }
      const client = owner.openai.withOptions({ maxRetries: 5, baseURL: `${url}/v1` })
      const failure = yield* Effect.promise(() =>
        client.chat.completions.create({ model: body.model, messages: [{ role: "user", content: "hi" }] }).then(
          () => assert.fail("the budget is spent"),
          (error: unknown) => error
        )
      )
      assert.instanceOf(failure, RateLimitError)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE budget SET amount = amount * 2 WHERE organization_id = ${owner.organization}`
      // The same request, under the same Idempotency-Key, is answered now.
      ok(yield* chat(body, keyed))
    })
  )

  it.effect("follow a key that is rotated, with what is spent of them", () =>
    Effect.gen(function* () {
      const { admin, chat, request } = yield* TestGateway
      const owner = yield* tenantOnSpentBudget
      const rotated = ok(yield* admin("POST", `/admin/v1/api_keys/${owner.keyId}/rotate`, { overlap_seconds: 60 }))
      const successor = as({ ...owner, key: String(rotated.at("secret")) })
      refused(yield* chat(body, successor), 429, "budget_exceeded", /1\.0004 USD are spent/)
      assert.strictEqual(left(yield* request("GET", "/v1/key", undefined, successor)), "-0.0004")
    })
  )

  it.effect("are shared by a rotated key and those that replaced it, so that nobody gets more to spend", () =>
    Effect.gen(function* () {
      const { admin, chat, request, tenant } = yield* TestGateway
      const first = yield* tenant("10")
      const created = yield* admin("POST", budgets, { api_key_id: first.keyId, amount_usd: "1", period: "total" })
      const id = String(ok(created).at("id"))
      const rotate = (keyId: string) =>
        Effect.map(admin("POST", `/admin/v1/api_keys/${keyId}/rotate`, { overlap_seconds: 600 }), (reply) => ({
          ...first,
          keyId: apiKeyId(String(ok(reply).at("id"))),
          key: String(reply.at("secret"))
        }))
      const second = yield* rotate(first.keyId)
      const third = yield* rotate(second.keyId)
      // A key that is rotated twice has two successors.
      const holders = [first, second, third, yield* rotate(first.keyId)]
      for (const spender of holders) {
        ok(yield* admin("PATCH", `${budgets}/${id}`, { amount_usd: "1" }))
        ok(yield* chat(body, as(spender)))
        ok(yield* admin("PATCH", `${budgets}/${id}`, { amount_usd: "0.000001" }))
        for (const holder of holders) {
          refused(yield* chat(body, as(holder)), 429, "budget_exceeded", /USD are spent/)
          assert.match(String(left(yield* request("GET", "/v1/key", undefined, as(holder)))), /^-0\.0000/)
        }
      }
      const listed = ok(yield* admin("GET", `${budgets}?organization_id=${first.organization}`))
      assert.deepStrictEqual(
        (listed.at("data") as ReadonlyArray<Record<string, unknown>>).map((one) => [one["id"], one["api_key_id"]]),
        [[id, third.keyId]]
      )
    })
  )

  it.effect("cannot be made of what is not there, in a zone that is none, or twice for a period", () =>
    Effect.gen(function* () {
      const { admin, key, request, tenant } = yield* TestGateway
      const [owner, other] = [yield* tenant("1"), yield* tenant("1")]
      const good = { api_key_id: owner.keyId, amount_usd: "5", period: "month" }
      const create = (change: object) => admin("POST", budgets, { ...good, ...change })
      const id = String(ok(yield* create({ time_zone: "America/New_York" })).at("id"))
      const bad: ReadonlyArray<readonly [Effect.Effect<Reply>, number, string, RegExp]> = [
        [create({}), 409, "conflict", /^period: .* month/],
        [create({ period: "day", time_zone: "Europe/Atlantis" }), 400, "invalid_request", /^time_zone: /],
        [create({ period: "day", time_zone: "+01:00" }), 400, "invalid_request", /^time_zone: /],
        [create({ period: "year" }), 400, "invalid_request", /^period: /],
        [create({ amount_usd: "0" }), 400, "invalid_request", /^amount_usd: /],
        [create({ amount_usd: "-1" }), 400, "invalid_request", /^amount_usd: /],
        [create({ amount_usd: 5 }), 400, "invalid_request", /^amount_usd: /],
        [create({ soft: true }), 400, "invalid_request", /soft/],
        [create({ api_key_id: undefined }), 400, "invalid_request", /^organization_id: /],
        [create({ project_id: nobody }), 400, "invalid_request", /^project_id: /],
        [create({ period: "day", organization_id: other.organization }), 404, "not_found", /key/],
        [create({ api_key_id: nobody }), 404, "not_found", /key/],
        [create({ api_key_id: undefined, project_id: nobody }), 404, "not_found", /project/],
        [create({ api_key_id: undefined, organization_id: nobody }), 404, "not_found", /organization/],
        [admin("PATCH", `${budgets}/${id}`, { amount_usd: "0" }), 400, "invalid_request", /^amount_usd: /],
        [admin("PATCH", `${budgets}/${id}`, { period: "day" }), 400, "invalid_request", /./],
        [admin("GET", `${budgets}/${nobody}`), 404, "not_found", /budget/],
        [admin("DELETE", `${budgets}/${nobody}`), 404, "not_found", /budget/],
        [request("GET", budgets, undefined, { authorization: `Bearer ${key}` }), 401, "unauthorized", /./]
      ]
      for (const [reply, status, code, message] of bad) refused(yield* reply, status, code, message)
      const all = ok(yield* admin("GET", `${budgets}?organization_id=${owner.organization}`))
      assert.lengthOf(all.at("data") as ReadonlyArray<unknown>, 1)
      ok(yield* admin("DELETE", `${budgets}/${id}`))
      ok(yield* create({ organization_id: owner.organization }))
    })
  )
})
