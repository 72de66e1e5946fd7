/**
 * Who may send which requests: keys and their expiry, endpoint and model allowlists, rate limits; and the order of the
 * checks.
 */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { describeGateway, layerGateway, type Reply, type Tenant, TestGateway } from "../support/TestGateway.ts"

const body = { model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }], max_completion_tokens: 5 }
const as = (tenant: Tenant) => ({ authorization: `Bearer ${tenant.key}` })

const assertError = (reply: Reply, status: number, code: string, about?: string) =>
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], `${about} ${reply.text}`)

describeGateway("Access", (it) => {
  it.effect("refuses requests whose key is missing, malformed or unknown", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const keys = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        gateway.key,
        `Basic ${gateway.key}`,
        `Token  ${gateway.key}`,
        `Bearer ${gateway.key}x`,
        `Bearer ${gateway.key.slice(0, -1)}`,
        `Bearer ${gateway.key} and more`,
        `Bearer ${"k".repeat(4_000)}`,
        "Bearer '; DROP TABLE api_key; --"
      ]
      for (const authorization of keys) {
        for (const [method, path] of [
          ["POST", "/v1/chat/completions"],
          ["GET", "/v1/models"],
          ["GET", `/v1/generations/${randomUUID()}`]
        ] as const) {
          const reply = yield* gateway.request(method, path, method === "POST" ? body : undefined, { authorization })
          assertError(reply, 401, "unauthorized", authorization)
          assert.notInclude(reply.text, gateway.key)
        }
      }
      const lowerCase = yield* gateway.chat(body, { authorization: `bearer ${gateway.key}` })
      assert.strictEqual(lowerCase.status, 200)
    })
  )

  it.effect("refuses a key from the moment it expires", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      // On a slow machine the shorter lives may be over before the first answer: then the next one counts.
      for (const lifeMillis of [1_500, 6_000, 24_000]) {
        const expiresAtMillis = (yield* Clock.currentTimeMillis) + lifeMillis
        const tenant = yield* gateway.tenant("1", { expiresAtMillis })
        const { status } = yield* gateway.chat(body, as(tenant))
        const isSlow = status !== 200 && (yield* Clock.currentTimeMillis) >= expiresAtMillis
        yield* Effect.sleep(Math.max(0, expiresAtMillis - (yield* Clock.currentTimeMillis) + 5))
        assertError(yield* gateway.chat(body, as(tenant)), 401, "unauthorized")
        if (!isSlow) return assert.strictEqual(status, 200)
      }
      return assert.fail("no key lived until its first answer")
    })
  )

  it.effect("refuses a revoked key on every replica within two seconds", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const { revoke } = yield* ApiKeys
      // Only one process can open the embedded engine, so there the replica is the gateway itself.
      const replica = gateway.variables["DATABASE_URL"] === undefined ? gateway : yield* replicaOf(gateway)
      const tenant = yield* gateway.tenant("1")
      assert.strictEqual((yield* gateway.chat(body, as(tenant))).status, 200)
      assert.strictEqual((yield* replica.chat(body, as(tenant))).status, 200)
      yield* revoke({ id: tenant.keyId })
      yield* Effect.sleep(1_900)
      assertError(yield* gateway.chat(body, as(tenant)), 401, "unauthorized")
      assertError(yield* replica.chat(body, as(tenant)), 401, "unauthorized")
    }).pipe(Effect.scoped)
  )

  it.effect("lets a key use only the endpoints on its allowlist", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const elsewhere = yield* gateway.tenant("1", { endpoints: ["audio.transcriptions"] })
      const refused = yield* gateway.chat(body, as(elsewhere))
      assertError(refused, 403, "endpoint_not_allowed")
      assert.match(String(refused.at("error.message")), /chat\.completions/)
      assertError(
        yield* gateway.chat(body, as(yield* gateway.tenant("1", { endpoints: [] }))),
        403,
        "endpoint_not_allowed"
      )
      const here = yield* gateway.tenant("1", { endpoints: ["chat.completions"] })
      assert.strictEqual((yield* gateway.chat(body, as(here))).status, 200)
    })
  )

  it.effect("refuses a direct call of a model that is not on the allowlist, and routes within it", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const models = [modelId("gpt-4o-mini"), modelId("claude-haiku-4-5")]
      const tenant = yield* gateway.tenant("1", { models })
      assert.strictEqual((yield* gateway.chat(body, as(tenant))).status, 200)
      const refused = yield* gateway.chat({ ...body, model: "gpt-4o" }, as(tenant))
      assertError(refused, 403, "model_not_allowed")
      for (const reasoning of [undefined, { enabled: false }, { effort: "low" }]) {
        for (const content of ["hi", "Prove that there are infinitely many primes of the form 4k+3."]) {
          const routed = yield* gateway.chat({ messages: [{ role: "user", content }], reasoning }, as(tenant))
          assert.include(models, routed.at("model"), routed.text)
        }
      }
    })
  )

  it.effect("reports that an allowlist leaves no model to route to", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const models of [[], [modelId("retired-model")]]) {
        const tenant = yield* gateway.tenant("1", { models })
        assertError(yield* gateway.chat({ messages: body.messages }, as(tenant)), 403, "model_not_allowed")
      }
      const reasonless = yield* gateway.tenant("1", { models: [modelId("gpt-4o-mini")] })
      const reply = yield* gateway.chat({ messages: body.messages, reasoning_effort: "high" }, as(reasonless))
      assertError(reply, 400, "invalid_request")
    })
  )

  it.effect("counts requests per key, and reports in OpenAI's headers how many are left and when to retry", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1", { requestsPerMinute: 3 })
      const other = yield* gateway.tenant("1", { requestsPerMinute: 3 })
      for (const left of ["2", "1", "0"]) {
        const reply = yield* gateway.chat(body, as(tenant))
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(reply.headers.get("x-ratelimit-limit-requests"), "3")
        assert.strictEqual(reply.headers.get("x-ratelimit-remaining-requests"), left)
        assert.match(String(reply.headers.get("x-ratelimit-reset-requests")), /^(\d+m)?\d+(ms|s)$/)
      }
      const limited = yield* gateway.chat(body, as(tenant))
      assertError(limited, 429, "rate_limit_exceeded")
      assert.strictEqual(limited.headers.get("x-ratelimit-limit-requests"), "3")
      assert.strictEqual(limited.headers.get("x-ratelimit-remaining-requests"), "0")
      const wait = Number(limited.headers.get("retry-after"))
      assert.isTrue(Number.isInteger(wait) && wait >= 1 && wait <= 21, String(wait))
      assert.strictEqual((yield* gateway.chat(body, as(other))).status, 200)
      assert.strictEqual((yield* gateway.chat(body)).headers.get("x-ratelimit-limit-requests"), "600")
    })
  )

  it.effect("counts the requests of a key on all replicas together", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      if (gateway.variables["DATABASE_URL"] === undefined) return
      const gateways = [gateway, yield* replicaOf(gateway)]
      const tenant = yield* gateway.tenant("1", { requestsPerMinute: 60 })
      const startedAtMillis = yield* Clock.currentTimeMillis
      const replies = yield* Effect.all(
        Array.from({ length: 60 }, () => gateways)
          .flat()
          .map(({ request }) => request("GET", "/v1/credits", undefined, as(tenant))),
        { concurrency: 20 }
      )
      const refilled = Math.ceil(((yield* Clock.currentTimeMillis) - startedAtMillis) / 1_000)
      const admitted = replies.filter(({ status }) => status === 200).length
      assert.isTrue(admitted >= 60 && admitted <= 60 + refilled, `${admitted} admitted, ${refilled} refilled`)
      for (const reply of replies) if (reply.status !== 200) assertError(reply, 429, "rate_limit_exceeded")
    }).pipe(Effect.scoped)
  )

  it.effect("checks in the contract's order: each fault is reported once those before it are corrected", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const models = [modelId("gpt-4o-mini")]
      const bad = { model: "nope", messages: [], n: 2 }
      const shut = yield* gateway.tenant("0", { models, endpoints: [], requestsPerMinute: 1 })
      assertError(yield* gateway.chat(bad, { authorization: "Bearer wrong" }), 401, "unauthorized")
      assertError(yield* gateway.chat(bad, as(shut)), 403, "endpoint_not_allowed")
      assertError(yield* gateway.chat(bad, as(shut)), 403, "endpoint_not_allowed", "a refused endpoint does not count")
      const slow = yield* gateway.tenant("0", { models, requestsPerMinute: 1 })
      assertError(yield* gateway.chat("{", as(slow)), 400, "invalid_request")
      assertError(yield* gateway.chat("{", as(slow)), 429, "rate_limit_exceeded")
      const poor = yield* gateway.tenant("0", { models })
      const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "ftp://x" } }] }]
      const steps = [
        [{ ...bad, temperature: 9 }, 400, "unsupported_parameter"],
        [{ model: "nope", messages: [], metadata: { call_name: "" } }, 400, "invalid_call_name"],
        [{ model: "nope", messages: [] }, 400, "invalid_request"],
        [{ model: 7, messages: image }, 400, "invalid_request"],
        [{ model: 7, messages: body.messages }, 400, "invalid_model"],
        [{ ...body, model: "nope" }, 400, "invalid_model"],
        [{ ...body, model: "gpt-4o" }, 403, "model_not_allowed"],
        [{ messages: body.messages, reasoning: { enabled: false } }, 402, "insufficient_credits"],
        [body, 402, "insufficient_credits"]
      ] as const
      for (const [fields, status, code] of steps) {
        assertError(yield* gateway.chat(fields, as(poor)), status, code, JSON.stringify(fields))
      }
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
    })
  )

  it.effect("refuses when the balance is zero or negative, and only then", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const barely = yield* gateway.tenant("0.000000000001")
      assert.strictEqual((yield* gateway.chat(body, as(barely))).status, 200)
      const { available } = yield* gateway.balance(barely.organization)
      assert.isBelow(Number(available), 0)
      const refused = yield* gateway.chat({ ...body, stream: true }, as(barely))
      assertError(refused, 402, "insufficient_credits")
      assert.strictEqual((yield* sql`SELECT 1 FROM credit_hold`).length, 0)
    })
  )
})

const replicaOf = (gateway: TestGateway["Service"]) =>
  Effect.map(Layer.build(layerGateway(gateway.variables)), (services) => Context.get(services, TestGateway))
