/** What was used and what it cost, for operators and for the holder of a key. */
import { assert } from "@effect/vitest"
import { Clock, DateTime, Effect, Option } from "effect"

import { fromUsd, type Picodollars, picodollars } from "../../src/domain/Money.ts"
import { as, eventually, user } from "../support/Chat.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"

const body = { messages: [user("hi")], max_completion_tokens: 5 }
const calls = [
  { ...body, model: "gpt-4o-mini", metadata: { call_name: "=1+1", end_user_id: "u-1" } },
  { ...body, model: "gpt-4o-mini", metadata: { call_name: "greeting", end_user_id: "u-2" } },
  { ...body, model: "gpt-4o", metadata: { call_name: "greeting", end_user_id: "u-1" } },
  { ...body, model: "nobody" }
]

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

interface Bucket {
  readonly start: string | null
  readonly group: Record<string, string | null>
  readonly requests: number
  readonly cost_usd: string
}

const bucketsOf = (reply: Reply) => ok(reply).at("data") as ReadonlyArray<Bucket>
const costOf = (buckets: ReadonlyArray<Bucket>): Picodollars =>
  picodollars(buckets.reduce((sum, { cost_usd }) => sum + Option.getOrThrow(fromUsd(cost_usd)), 0n))
const requestsOf = (buckets: ReadonlyArray<Bucket>): number => buckets.reduce((sum, { requests }) => sum + requests, 0)

/** From an hour ago; the usage of the tests is of now. */
const lately = Effect.map(
  Clock.currentTimeMillis,
  (now) => `from=${encodeURIComponent(DateTime.formatIso(DateTime.makeUnsafe(now - 3_600_000)))}`
)

describeGateway("Usage", (it) => {
  it.effect("adds up to what the journal charged, however it is grouped, and is the caller's own", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const [tenant, other] = [yield* gateway.tenant("1"), yield* gateway.tenant("1")]
      for (const call of calls) yield* gateway.chat(call, as(tenant))
      ok(yield* gateway.chat(calls[0], as(other)))
      const from = yield* lately
      const own = (query: string) => gateway.request("GET", `/v1/usage?${from}${query}`, undefined, as(tenant))
      const whole = Effect.map(own(""), (reply) => {
        const buckets = bucketsOf(reply)
        return requestsOf(buckets) === calls.length ? buckets : undefined
      })
      const charged = 1_000_000_000_000n - (yield* gateway.balance(tenant.organization)).available
      assert.isAbove(Number(charged), 0)
      assert.strictEqual(costOf(yield* eventually(whole, "all requests")), charged)
      for (const group of ["model", "call_name", "end_user_id,model", "outcome,provider,api_key_id", "project_id"]) {
        const buckets = bucketsOf(yield* own(`&group_by=${group}&interval=hour&time_zone=Asia/Kathmandu`))
        assert.deepStrictEqual([requestsOf(buckets), costOf(buckets)], [calls.length, charged], group)
        for (const bucket of buckets) assert.deepStrictEqual(Object.keys(bucket.group), group.split(","))
      }
      const greetings = bucketsOf(yield* own("&group_by=end_user_id&call_name=greeting"))
      assert.sameMembers(
        greetings.map(({ group, requests }) => `${group["end_user_id"]} ${requests}`),
        ["u-1 1", "u-2 1"]
      )
      const admin = (query: string) => gateway.admin("GET", `/admin/v1/usage?${from}${query}`)
      const all = bucketsOf(yield* admin("&group_by=organization_id"))
      const mine = all.find(({ group }) => group["organization_id"] === tenant.organization)
      assert.deepStrictEqual([mine?.requests, costOf(mine ? [mine] : [])], [calls.length, charged])
      const narrowed = bucketsOf(yield* admin(`&organization_id=${tenant.organization}&model=gpt-4o`))
      assert.strictEqual(requestsOf(narrowed), 1)
    })
  )

  it.effect("is told by the hours and days of a time zone", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      ok(yield* gateway.chat(calls[0], as(tenant)))
      const from = yield* lately
      const own = (query: string) => gateway.request("GET", `/v1/usage?${from}${query}`, undefined, as(tenant))
      const first = Effect.map(own("&interval=day&time_zone=Asia/Kathmandu"), (reply) => bucketsOf(reply)[0])
      const day = yield* eventually(first, "the first request")
      // Nepal is five hours and three quarters ahead of UTC.
      assert.match(String(day.start), /T18:15:00/)
      const [hour] = bucketsOf(yield* own("&interval=hour"))
      assert.match(String(hour?.start), /:00:00/)
    })
  )

  it.effect("refuses what it cannot tell, with the field and the rule", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const cases: ReadonlyArray<readonly [query: string, message: RegExp]> = [
        ["", /^from: /],
        ["from=yesterday", /^from: /],
        ["from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", /^from: must be before to/],
        ["from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z&interval=hour", /^from: must be at most 31 days/],
        ["from=1990-01-01T00:00:00Z", /^from: must be at most 3660 days/],
        ["from=2026-01-01T00:00:00Z&interval=minute", /^interval: /],
        ["from=2026-01-01T00:00:00Z&time_zone=Mars/Olympus", /^time_zone: must be an IANA name/],
        ["from=2026-01-01T00:00:00Z&group_by=planet", /^group_by: must be different names/],
        ["from=2026-01-01T00:00:00Z&group_by=model,model", /^group_by: /],
        ["from=2026-01-01T00:00:00Z&group_by=organization_id", /^group_by: /],
        ["from=2026-01-01T00:00:00Z&project_id=1", /^project_id: /],
        ["from=2026-01-01T00:00:00Z&organization_id=00000000-0000-7000-8000-000000000000", /organization_id/]
      ]
      for (const [query, message] of cases) {
        const reply = yield* gateway.request("GET", `/v1/usage?${query}`)
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], query + reply.text)
        assert.match(String(reply.at("error.message")), message)
      }
      const stranger = yield* gateway.request("GET", "/admin/v1/usage?from=2026-01-01T00:00:00Z")
      assert.strictEqual(stranger.status, 401)
    })
  )
})
