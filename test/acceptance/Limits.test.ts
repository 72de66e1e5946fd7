/** Limits of keys and organizations, as operators set them and as clients meet them. */
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { as, user } from "../support/Chat.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"

const body = { model: "gpt-4o-mini", messages: [user("hi")], max_completion_tokens: 5 }

const assertLimited = (reply: Reply, message: RegExp) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [429, "rate_limit_exceeded"], reply.text)
  assert.match(String(reply.at("error.message")), message)
}

describeGateway("Limits", (it) => {
  it.effect("of an organization are set by operators, recorded, and apply to all of its keys together", () =>
    Effect.gen(function* () {
      const { admin, chat, request, tenant } = yield* TestGateway
      const { environment, organization } = yield* tenant("1")
      const path = `/admin/v1/organizations/${organization}`
      const changed = yield* admin("PATCH", path, { requests_per_minute: 3, tokens_per_minute: 50_000 })
      assert.deepStrictEqual([changed.at("requests_per_minute"), changed.at("tokens_per_minute")], [3, 50_000])
      const audit = yield* admin("GET", `/admin/v1/audit_events?subject_id=${organization}`)
      assert.strictEqual(audit.at("data.0.action"), "organization.update")
      assert.strictEqual(audit.at("data.0.before.tokens_per_minute"), null)
      assert.strictEqual(audit.at("data.0.after.tokens_per_minute"), 50_000)

      const keys = yield* ApiKeys
      const newKey = Effect.map(keys.issue({ environment, name: "k" }), ({ secret }) => ({
        authorization: `Bearer ${Redacted.value(secret)}`
      }))
      const [one, other] = [yield* newKey, yield* newKey]
      const facts = yield* request("GET", "/v1/key", undefined, one)
      assert.deepStrictEqual(facts.at("organization_limits"), { requests_per_minute: 3, tokens_per_minute: 50_000 })
      assert.strictEqual(facts.at("tokens_per_minute"), null)
      assert.strictEqual((yield* chat(body, one)).headers.get("x-ratelimit-remaining-requests"), "1")
      assert.strictEqual((yield* chat(body, other)).status, 200)
      const limited = yield* chat(body, other)
      assertLimited(limited, /^All API keys of this organization together may make 3 requests per minute; try again/)
      assert.strictEqual(limited.headers.get("x-ratelimit-limit-requests"), "3")

      const freed = yield* admin("PATCH", path, { requests_per_minute: null })
      assert.deepStrictEqual([freed.at("requests_per_minute"), freed.at("tokens_per_minute")], [null, 50_000])
      const bad = yield* admin("PATCH", path, { tokens_per_minute: 0 })
      assert.deepStrictEqual([bad.status, bad.at("error.code")], [400, "invalid_request"])
    })
  )

  it.effect("of tokens count what a request is expected to take, then what it took", () =>
    Effect.gen(function* () {
      const { admin, chat, request, tenant } = yield* TestGateway
      const limited = yield* tenant("1", { tokensPerMinute: 1_000 })
      assert.strictEqual((yield* request("GET", "/v1/key", undefined, as(limited))).at("tokens_per_minute"), 1_000)
      const key = yield* admin("GET", `/admin/v1/api_keys/${limited.keyId}`)
      assert.strictEqual(key.at("tokens_per_minute"), 1_000)
      for (let sent = 0; sent < 3; sent++) {
        const reply = yield* chat({ ...body, max_completion_tokens: 500 }, as(limited))
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual(reply.headers.get("x-ratelimit-limit-tokens"), "1000")
        const used = Number(reply.at("usage.total_tokens")) * (sent + 1)
        assert.isAtLeast(Number(reply.headers.get("x-ratelimit-remaining-tokens")), 1_000 - used)
        assert.match(String(reply.headers.get("x-ratelimit-reset-tokens")), /^(\d+m)?\d+(ms|s)$/)
      }
      assert.strictEqual((yield* chat(body, as(yield* tenant("1")))).headers.get("x-ratelimit-limit-tokens"), null)
    })
  )

  it.effect("of tokens are passed by an answer that is longer than expected, and hold until that is made up for", () =>
    Effect.gen(function* () {
      const { chat, tenant } = yield* TestGateway
      const limited = yield* tenant("1", { tokensPerMinute: 100 })
      const long = { model: "gpt-4o-mini", messages: [user("[fault:length 2000]")] }
      assert.strictEqual((yield* chat(long, as(limited))).status, 200)
      const refused = yield* chat(long, as(limited))
      assertLimited(refused, /^This API key may use 100 tokens per minute; try again in \d+ seconds$/)
      assert.strictEqual(refused.headers.get("x-ratelimit-remaining-tokens"), "0")
      assert.isAbove(Number(refused.headers.get("retry-after")), 600)
    })
  )
})
