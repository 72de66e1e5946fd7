/** A database that goes down and comes back: clear errors in between, nothing lost, nothing charged twice. */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect, Equal, Fiber, Redacted, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"

import { awaited } from "../support/Chat.ts"
import { answers, FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProviderOnPostgres, type Reply, TestGateway, usd } from "../support/TestGateway.ts"

const good = {
  model: "gpt-4o-mini",
  messages: [{ role: "user", content: "the password is swordfish" }],
  max_completion_tokens: 5
}

/** Runs statements on the server, outside the gateway's own database. */
const onServer = <A, E>(run: (sql: PgClient.PgClient, database: string) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const { variables } = yield* TestGateway
    const database = new URL(variables["DATABASE_URL"] ?? "").pathname.slice(1)
    const sql = yield* PgClient.make({ url: Redacted.make(inject("postgresUrl") ?? ""), maxConnections: 1 })
    return yield* run(sql, database)
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.orDie)

const terminate = (sql: PgClient.PgClient, database: string) =>
  sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${database}`

/** Ends every connection, and returns when the server has closed them. */
const cut = Effect.fnUntraced(function* (sql: PgClient.PgClient, database: string) {
  const old = yield* sql<{ readonly pid: number }>`SELECT pid FROM pg_stat_activity WHERE datname = ${database}`
  yield* terminate(sql, database)
  const left = sql<{ readonly pid: number }>`SELECT pid FROM pg_stat_activity WHERE datname = ${database}`
  const isOver = (open: typeof old): boolean => !open.some(({ pid }) => old.some((one) => one.pid === pid))
  yield* Effect.repeat(left, { until: isOver, schedule: Schedule.spaced("5 millis") })
})

/** Ends every connection and refuses new ones. */
const die = onServer((sql, database) =>
  Effect.andThen(sql`ALTER DATABASE ${sql(database)} ALLOW_CONNECTIONS false`, terminate(sql, database))
)
const revive = onServer((sql, database) => sql`ALTER DATABASE ${sql(database)} ALLOW_CONNECTIONS true`)

const whileDead = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    die,
    () => effect,
    () => revive
  )

/** Runs `effect` while accounts are locked. */
const whileStuck = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { variables } = yield* TestGateway
    const url = Redacted.make(variables["DATABASE_URL"] ?? "")
    const sql = yield* PgClient.make({ url, maxConnections: 1 })
    return yield* sql.withTransaction(Effect.andThen(sql`LOCK TABLE credit_account`, effect))
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.orDie)

const assertInternal = (reply: Reply) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [500, "internal_error"], reply.text)
  assert.deepStrictEqual(JSON.parse(reply.text), {
    error: { code: "internal_error", message: reply.at("error.message") }
  })
  assert.notMatch(reply.text, /postgres|select|insert/i)
}

/** Waits until the gateway has recovered by itself. */
const recovered = Effect.gen(function* () {
  const gateway = yield* TestGateway
  const reply = yield* gateway
    .chat(good)
    .pipe(Effect.repeat({ until: ({ status }) => status === 200, schedule: Schedule.spaced("100 millis"), times: 600 }))
  assert.strictEqual(reply.status, 200, reply.text)
  assert.strictEqual(yield* gateway.lingeringHolds, 0)
  assert.strictEqual((yield* gateway.request("GET", "/health/ready")).status, 200)
})

/** The cost of these answers together. */
const costOf = (replies: ReadonlyArray<Reply>): bigint =>
  replies.reduce((sum, reply) => sum + usd(Number(reply.at("usage.cost")).toFixed(12)), 0n)

describeWithFakeProviderOnPostgres("A dead database", (it) => {
  it.effect("refuses requests, plain and streamed, while it is dead, and the gateway recovers by itself", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(answers("fine"))
      assert.strictEqual((yield* gateway.chat(good)).status, 200)
      yield* whileDead(
        Effect.gen(function* () {
          assertInternal(yield* gateway.chat(good))
          // A key is cached for one second; after that it cannot be checked either.
          yield* Effect.sleep(1_100)
          const refusals = [
            gateway.chat({ ...good, stream: true }),
            gateway.chat({ messages: good.messages, session_id: "s" }),
            gateway.request("GET", "/v1/generations/01890000-0000-7000-8000-000000000000")
          ]
          for (const reply of yield* Effect.all(refusals, { concurrency: "unbounded" })) assertInternal(reply)
          assert.strictEqual((yield* gateway.request("GET", "/health/ready")).status, 503)
          assert.strictEqual((yield* gateway.request("GET", "/health/live")).status, 200)
          assert.strictEqual((yield* gateway.request("GET", "/v1/nothing")).status, 404)
        })
      )
      yield* recovered
    })
  )

  it.effect("that dies during a call does not cost the client its answer, and charges it once when it is back", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const { key, organization } = yield* gateway.tenant("1")
      const as = { authorization: `Bearer ${key}` }
      const dead = Promise.withResolvers<void>()
      const slowly = answers("fine")
      provider.script((response, received) => dead.promise.then(() => slowly(response, received)))
      const plain = yield* Effect.forkChild(gateway.chat(good, as))
      const streamed = yield* Effect.forkChild(gateway.chat({ ...good, stream: true }, as))
      yield* awaited(provider.arrival(2), "both calls of the provider")
      const replies = yield* whileDead(
        Effect.suspend(() => {
          dead.resolve()
          return Effect.all([Fiber.join(plain), Fiber.join(streamed)])
        })
      )
      assert.deepStrictEqual(
        replies.map(({ status }) => status),
        [200, 200]
      )
      assert.include(replies[1].text, "data: [DONE]")
      assert.notInclude(replies[1].text, '"error"')
      yield* recovered
      const cost = costOf([replies[0]])
      assert.isAbove(Number(cost), 0)
      assert.strictEqual((yield* gateway.balance(organization)).available, usd("1") - 2n * cost)
    })
  )

  it.effect("that drops its connections now and then fails few requests", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(answers("fine"))
      const before = yield* gateway.balance()
      const answered: Array<Reply> = []
      for (let round = 0; round < 5; round++) {
        yield* onServer(cut)
        const reply = yield* gateway.chat(good)
        if (reply.status === 200) answered.push(reply)
        else assertInternal(reply)
      }
      yield* recovered
      const after = yield* gateway.balance()
      assert.strictEqual(before.available - after.available, costOf(answered) + costOf([yield* gateway.chat(good)]))
      assert.isAbove(answered.length, 2)
    })
  )

  it.effect("that is stuck makes requests fail within seconds; a hold that it grants too late is refunded", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(answers("fine"))
      const before = yield* gateway.balance()
      // The lock is released after the answer: an answer at all shows that the request does not wait for it.
      assertInternal(yield* whileStuck(gateway.chat(good)))
      assert.lengthOf(provider.received, 0)
      // The stuck statement runs once the lock is released, after the answer; until then nothing is on hold either.
      const settled = gateway
        .balance()
        .pipe(Effect.repeat({ until: Equal.equals(before), schedule: Schedule.spaced("40 millis"), times: 1_500 }))
      assert.deepStrictEqual(yield* Effect.delay(settled, "500 millis"), before)
      yield* recovered
    })
  )

  it.effect("that is gone leaves no prompt and no key in the log", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const lines = (yield* gateway.logs).join("\n")
      for (const hidden of [gateway.key, "sk-openai", "swordfish"]) assert.notInclude(lines, hidden)
    })
  )
})
