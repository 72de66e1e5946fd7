/** Limits of keys and organizations, as operators set them and as clients meet them. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { as, awaited, eventually, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, type Reply, TestGateway } from "../support/TestGateway.ts"

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
      assert.deepStrictEqual(facts.at("organization_limits"), {
        requests_per_minute: 3,
        tokens_per_minute: 50_000,
        concurrent_requests: null
      })
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

/** The provider answers nobody before `open` is called. */
const shut = (provider: FakeProvider["Service"]): (() => void) => {
  const opened = Promise.withResolvers<void>()
  provider.script(async (response, received) => {
    await opened.promise
    return Fake.answers("ok")(response, received)
  })
  return opened.resolve
}

/** Disconnects while the provider is at work. */
const leaveWhileRunning = Effect.fnUntraced(function* (key: string, stream: boolean) {
  const { url } = yield* TestGateway
  const provider = yield* FakeProvider
  const leaving = new AbortController()
  const answer = fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream })
  }).catch(() => undefined)
  yield* awaited(provider.arrival(1), "the call")
  leaving.abort()
  yield* Effect.promise(() => answer)
})

describeWithFakeProvider("Limits of concurrent requests", (it) => {
  for (const stream of [false, true])
    it.effect(`count a request until its answer is complete, and name themselves (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const { chat, request, tenant } = yield* TestGateway
        const provider = yield* FakeProvider
        const limited = yield* tenant("1", { concurrentRequests: 2 })
        const open = shut(provider)
        const running = yield* Effect.forEach([1, 2], () => Effect.forkChild(chat({ ...body, stream }, as(limited))))
        yield* awaited(provider.arrival(2), "both calls")
        const refused = yield* chat(body, as(limited))
        assertLimited(refused, /^This API key may have 2 requests running at a time; try again when one of them has/)
        assert.strictEqual(refused.headers.get("retry-after"), "1")
        // What is not billed does not count.
        const facts = yield* request("GET", "/v1/key", undefined, as(limited))
        assert.deepStrictEqual([facts.status, facts.at("concurrent_requests")], [200, 2])
        open()
        for (const fiber of running) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
        yield* eventually(
          Effect.map(chat(body, as(limited)), ({ status }) => (status === 200 ? status : undefined)),
          "a free slot"
        )
      })
    )

  it.effect("have a slot again after every way in which a request can end", () =>
    Effect.gen(function* () {
      const { chat, request, tenant } = yield* TestGateway
      const provider = yield* FakeProvider
      const limited = yield* tenant("1", { concurrentRequests: 1 })
      const isFree = eventually(
        Effect.map(chat(body, as(limited)), ({ status }) => (status === 200 ? status : undefined)),
        "a free slot"
      )
      const ends = [
        chat({ ...body, model: "no-such-model" }, as(limited)),
        chat("not JSON", as(limited)),
        chat({ ...body, messages: [] }, as(limited)),
        request("POST", "/v1/audio/transcriptions", undefined, as(limited))
      ]
      provider.script(Fake.answers("ok"))
      for (const end of ends) {
        const { status } = yield* end
        assert.isTrue(status >= 400 && status < 500, String(status))
        yield* isFree
      }
      for (const stream of [false, true]) {
        const open = shut(provider)
        yield* leaveWhileRunning(limited.key, stream)
        // The provider answers again only now, so the slot was free before.
        provider.script(Fake.answers("ok"))
        yield* isFree
        open()
      }
    })
  )

  it.effect("are set by operators for a key and for an organization, recorded, and taken away again", () =>
    Effect.gen(function* () {
      const { admin, chat, request, tenant } = yield* TestGateway
      const provider = yield* FakeProvider
      const owner = yield* tenant("1")
      const [key, organization] = [`/admin/v1/api_keys/${owner.keyId}`, `/admin/v1/organizations/${owner.organization}`]
      assert.strictEqual((yield* admin("PATCH", key, { concurrent_requests: 5 })).at("concurrent_requests"), 5)
      const changed = yield* admin("PATCH", organization, { concurrent_requests: 1 })
      assert.strictEqual(changed.at("concurrent_requests"), 1)
      const audit = yield* admin("GET", `/admin/v1/audit_events?subject_id=${owner.organization}`)
      assert.deepStrictEqual(
        [audit.at("data.0.before.concurrent_requests"), audit.at("data.0.after.concurrent_requests")],
        [null, 1]
      )
      for (const path of [key, organization])
        assert.strictEqual(
          (yield* admin("PATCH", path, { concurrent_requests: 0 })).at("error.code"),
          "invalid_request"
        )
      // A change holds within two seconds.
      yield* eventually(
        Effect.map(request("GET", "/v1/key", undefined, as(owner)), (facts) =>
          facts.at("organization_limits.concurrent_requests") === 1 ? facts : undefined
        ),
        "the limit of the organization"
      )
      const open = shut(provider)
      const limited = yield* Effect.gen(function* () {
        const running = yield* Effect.all(
          Array.from({ length: 6 }, () =>
            Effect.tap(chat(body, as(owner)), ({ status }) => Effect.sync(() => status === 429 && open()))
          ),
          { concurrency: "unbounded" }
        )
        return running.find(({ status }) => status === 429)
      })
      if (limited === undefined) return assert.fail("none was refused")
      assertLimited(limited, /^All API keys of this organization together may have 1 request running at a time/)
      assert.strictEqual((yield* admin("PATCH", organization, { concurrent_requests: null })).status, 200)
    })
  )
})
