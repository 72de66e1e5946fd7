/** `Idempotency-Key`: one answer and one charge, however often and wherever a request is repeated. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"

import { maxRecordedBytes } from "../../src/idempotency/IdempotentRequest.ts"
import { as, chunksOf, costOf, eventually, receiptOf, settledBalance, textIn, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import {
  describeGateway,
  describeWithFakeProvider,
  describeWithFakeProviderOnPostgres,
  layerGateway,
  type Reply,
  type Tenant,
  TestGateway,
  usd
} from "../support/TestGateway.ts"

const credit = usd("1")
const hello = { model: "gpt-4.1", messages: [user("Hello")] }

/** The headers of a tenant's request, with a new idempotency key. */
const keyed = (tenant: Tenant) => ({ ...as(tenant), "idempotency-key": randomUUID() })

const isReplay = (reply: Reply) => reply.headers.get("idempotent-replayed") === "true"

const costIn = (reply: Reply, stream: boolean) => costOf(stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text))

const assertConflict = (reply: Reply, message: RegExp) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [409, "idempotency_conflict"], reply.text)
  assert.match(String(reply.at("error.message")), message)
}

describeGateway("A request with an Idempotency-Key", (it) => {
  for (const stream of [false, true]) {
    it.effect(`that is repeated gets the same answer, byte by byte, and one charge (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const headers = keyed(tenant)
        const replies = [
          yield* gateway.chat({ ...hello, stream }, headers),
          yield* gateway.chat({ ...hello, stream }, headers),
          yield* gateway.chat({ ...hello, stream }, headers)
        ]
        const [first] = replies
        assert.deepStrictEqual(replies.map(isReplay), [false, true, true])
        for (const name of ["content-type", "cache-control"]) {
          assert.lengthOf([...new Set(replies.map((reply) => reply.headers.get(name)))], 1, name)
        }
        assert.lengthOf([...new Set(replies.map(({ text }) => text))], 1)
        assert.lengthOf([...new Set(replies.map((reply) => reply.headers.get("x-request-id")))], 3)
        if (first === undefined) return assert.fail()
        const cost = costIn(first, stream)
        assert.isTrue(cost > 0n)
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - cost)
      })
    )

    it.effect(`waits for the first request while that is in flight (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const body = { model: "gpt-4.1-mini", stream, messages: [user("[fault:stall 1s] Wait for me.")] }
        const headers = keyed(tenant)
        const answers = yield* Effect.all(
          Array.from({ length: 20 }, () => gateway.chat(body, headers)),
          { concurrency: "unbounded" }
        )
        assert.lengthOf([...new Set(answers.map(({ text }) => text))], 1)
        assert.lengthOf(answers.filter(isReplay), 19)
        const [first] = answers
        if (first === undefined) return assert.fail()
        assert.strictEqual(first.status, 200)
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - costIn(first, stream))
      })
    )
  }

  it.effect("is refused when the key was used with another body, during and after the first request", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const headers = keyed(tenant)
      const slow = { ...hello, messages: [user("[fault:stall 1s] Hello")] }
      const first = yield* Effect.forkChild(gateway.chat(slow, headers))
      const sql = yield* SqlClient.SqlClient
      const claims = sql`SELECT key FROM recorded_answer WHERE organization_id = ${tenant.organization}`
      yield* eventually(
        Effect.map(claims, ({ length }) => length > 0 || undefined),
        "the claim of the first request"
      )
      assertConflict(yield* gateway.chat(hello, headers), /another request body/)
      const reply = yield* Fiber.join(first)
      assertConflict(yield* gateway.chat(hello, headers), /another request body/)
      assertConflict(yield* gateway.chat({ ...slow, stream: true }, headers), /another request body/)
      assert.strictEqual(yield* settledBalance(tenant.organization), credit - costIn(reply, false))
    })
  )

  it.effect("is independent of the keys of other organizations", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const key = { "idempotency-key": "the-same-for-both" }
      const [one, two] = [yield* gateway.tenant("1"), yield* gateway.tenant("1")]
      const mine = yield* gateway.chat(hello, { ...as(one), ...key })
      const theirs = yield* gateway.chat({ ...hello, temperature: 0 }, { ...as(two), ...key })
      assert.deepStrictEqual([mine.status, theirs.status, isReplay(theirs)], [200, 200, false])
      assert.notStrictEqual(theirs.at("id"), mine.at("id"))
    })
  )

  it.effect("is answered again when the balance is used up", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("0.000001")
      const headers = keyed(tenant)
      const first = yield* gateway.chat(hello, headers)
      assert.isTrue((yield* settledBalance(tenant.organization)) < 0n)
      assert.strictEqual((yield* gateway.chat(hello, as(tenant))).status, 402)
      assert.strictEqual((yield* gateway.chat(hello, headers)).text, first.text)
    })
  )

  it.effect("must have a key of 1 to 255 visible ASCII characters", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const key of ["", "a b", "é", "k".repeat(256)]) {
        const reply = yield* gateway.chat(hello, { "idempotency-key": key })
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], key)
        assert.include(String(reply.at("error.message")), "Idempotency-Key")
      }
      for (const key of ["!", "~".repeat(255)]) {
        assert.strictEqual((yield* gateway.chat(hello, { "idempotency-key": key })).status, 200)
      }
    })
  )

  it.effect("is the only kind of request whose answer is stored", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const tenant = yield* gateway.tenant("1")
      const kept = Effect.map(
        sql`SELECT 1 FROM recorded_answer WHERE organization_id = ${tenant.organization}`,
        (rows) => rows.length
      )
      yield* gateway.chat(hello, as(tenant))
      yield* gateway.chat({ ...hello, stream: true }, as(tenant))
      assert.strictEqual(yield* kept, 0)
      yield* gateway.chat(hello, keyed(tenant))
      assert.strictEqual(yield* kept, 1)
    })
  )

  it.effect(
    "is refused, and costs nothing, when its key cannot be looked up; requests without a key are answered",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const sql = yield* SqlClient.SqlClient
        const tenant = yield* gateway.tenant("1")
        yield* Effect.acquireUseRelease(
          sql`ALTER TABLE recorded_answer RENAME TO elsewhere`,
          () =>
            Effect.gen(function* () {
              for (const stream of [false, true]) {
                const reply = yield* gateway.chat({ ...hello, stream }, keyed(tenant))
                assert.deepStrictEqual([reply.status, reply.at("error.code")], [500, "internal_error"])
              }
              assert.strictEqual(yield* settledBalance(tenant.organization), credit)
              assert.strictEqual((yield* gateway.chat(hello, as(tenant))).status, 200)
            }),
          () => Effect.orDie(sql`ALTER TABLE elsewhere RENAME TO recorded_answer`)
        )
      })
  )
})

const role = Fake.openaiChunk({ role: "assistant", content: "" })
const word = Fake.openaiChunk({ content: "word " })

/** Does what `fetch` does, but gives the first call up at this event. */
const leavesFirst = (event: Promise<unknown>): typeof fetch => {
  let isFirst = true
  return (input, init = {}) => {
    if (!isFirst) return fetch(input, init)
    isFirst = false
    const leaving = new AbortController()
    void event.then(() => leaving.abort())
    return fetch(input, { ...init, signal: leaving.signal })
  }
}

describeWithFakeProvider("An attempt under an Idempotency-Key", (it) => {
  for (const stream of [false, true]) {
    it.effect(`that failed is followed by a new one (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        const headers = keyed(tenant)
        const failed = stream ? Fake.streams([role, word, word], { everyMillis: 30, ending: "cut" }) : Fake.error(400)
        provider.script(Fake.error(400), failed, Fake.answers("fine"))
        for (const _ of [1, 2]) {
          const refused = yield* gateway.chat({ ...hello, stream }, headers)
          assert.include(refused.text, `"error"`)
        }
        const answer = yield* gateway.chat({ ...hello, stream }, headers)
        assert.include(answer.text, "fine")
        const again = yield* gateway.chat({ ...hello, stream }, headers)
        assert.deepStrictEqual([isReplay(answer), isReplay(again), again.text], [false, true, answer.text])
        assert.lengthOf(provider.received, 3)
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - costIn(answer, stream))
      })
    )

    it.effect(`whose answer is too large to store is not repeated (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        const headers = keyed(tenant)
        provider.script(Fake.answers("x".repeat(maxRecordedBytes)))
        const answer = yield* gateway.chat({ ...hello, stream }, headers)
        assert.strictEqual(answer.status, 200)
        assertConflict(yield* gateway.chat({ ...hello, stream }, headers), /over 1048576 bytes.*\/v1\/generations\//)
        assert.lengthOf(provider.received, 1)
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - costIn(answer, stream))
      })
    )

    it.effect(`that the client left before any output is repeated, for one charge (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        provider.script(Fake.hangs, Fake.answers("fine"))
        // As when its time limit ends the first call. The SDK sends the same headers with its own retry.
        const fetchOnce = leavesFirst(provider.arrival())
        const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: tenant.key, maxRetries: 1, fetch: fetchOnce })
        const headers = { "Idempotency-Key": randomUUID() }
        const [id, text] = yield* Effect.promise(async () => {
          if (!stream) {
            const answer = await openai.chat.completions.create(hello, { headers })
            return [answer.id, answer.choices[0]?.message.content]
          }
          const whole = await openai.chat.completions.stream(hello, { headers }).finalChatCompletion()
          return [whole.id, whole.choices[0]?.message.content]
        })
        assert.strictEqual(text, "fine")
        assert.lengthOf(provider.received, 2)
        // 10 tokens in and 5 out at $2 and $8 per million.
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - 60_000_000n)
        const charged = yield* eventually(
          Effect.map(receiptOf(id, tenant), (receipt) => (receipt.at("outcome") === "completed" ? receipt : undefined)),
          "the receipt of the attempt that was charged"
        )
        assert.strictEqual(usd(String(charged.at("cost_usd"))), 60_000_000n)
      })
    )
  }

  for (const stream of [false, true])
    it.effect(`whose gateway died between charge and record is repeated, for one charge (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const sql = yield* SqlClient.SqlClient
        const tenant = yield* gateway.tenant("1")
        const headers = keyed(tenant)
        const usage = { prompt_tokens: 10, completion_tokens: 500, total_tokens: 510 }
        provider.script(Fake.answers("lost"), Fake.answers("found", { usage }))
        yield* gateway.chat({ ...hello, stream }, headers)
        yield* sql`UPDATE recorded_answer SET claimed_until = to_timestamp(0), outcome = NULL, content_type = NULL,
          answer = NULL WHERE organization_id = ${tenant.organization}`
        const again = yield* gateway.chat({ ...hello, stream }, headers)
        assert.include(again.text, "found")
        assert.isFalse(isReplay(again))
        // The first amount counts: 10 tokens in and 5 out at $2 and $8 per million.
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - 60_000_000n)
        const id = /chatcmpl-[0-9a-f-]+/.exec(again.text)?.[0]
        assert.strictEqual(usd(String((yield* receiptOf(id, tenant)).at("cost_usd"))), 60_000_000n)
      })
    )

  it.effect("that the client left in the middle of the stream is not repeated, because it was charged", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("1")
      const headers = { "Idempotency-Key": randomUUID() }
      const words = Array.from({ length: 500 }, () => word)
      provider.script(Fake.streams([role, ...words], { everyMillis: 5, ending: "open" }))
      const body = { ...hello, stream: true } as const
      const text = JSON.stringify(body)
      const controller = new AbortController()
      yield* Effect.promise(async () => {
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: "POST",
          signal: controller.signal,
          headers: { ...as(tenant), ...headers, "content-type": "application/json" },
          body: text
        })
        await response.body?.getReader().read()
        controller.abort()
      })
      const reply = yield* gateway.chat(text, { ...as(tenant), ...headers })
      assertConflict(reply, /left by its client.*charged for what was delivered.*a new key/)
      const id = /generations\/([0-9a-f-]+)/.exec(reply.text)?.[1]
      const receipt = yield* receiptOf(id, tenant)
      assert.strictEqual(receipt.at("outcome"), "client_left")
      const balance = yield* settledBalance(tenant.organization)
      assert.strictEqual(credit - balance, usd(String(receipt.at("cost_usd"))))
      assert.isTrue(balance < credit)
      assert.lengthOf(provider.received, 1)
    })
  )

  it.effect("is replayed to the SDK chunk by chunk", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("1")
      provider.script(Fake.streams([role, word, word, Fake.openaiChunk({}, "stop"), "data: [DONE]\n\n"]))
      const headers = { "Idempotency-Key": randomUUID() }
      const chunks = Effect.promise(async () => {
        const chunks = []
        const stream = await tenant.openai.chat.completions.create({ ...hello, stream: true }, { headers })
        for await (const chunk of stream) chunks.push(chunk)
        return chunks
      })
      const first = yield* chunks
      assert.deepStrictEqual(yield* chunks, first)
      assert.strictEqual(first.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "word word ")
      assert.lengthOf(provider.received, 1)
    })
  )
})

describeWithFakeProviderOnPostgres("Two gateways on one database", (it) => {
  it.effect("answer a key only once", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("1")
      const replica = Context.get(yield* Layer.build(layerGateway(gateway.variables)), TestGateway)
      assert.notStrictEqual(replica.url, gateway.url)
      for (const stream of [false, true]) {
        provider.script(async (response, received) => {
          await Fake.pause(400)
          await Fake.answers("fine")(response, received)
        })
        const before = yield* settledBalance(tenant.organization)
        const headers = keyed(tenant)
        const replies = yield* Effect.forEach(
          [gateway, replica, gateway, replica, gateway, replica],
          ({ chat }) => chat({ ...hello, stream }, headers),
          { concurrency: "unbounded" }
        )
        assert.lengthOf([...new Set(replies.map(({ text }) => text))], 1)
        assert.lengthOf(replies.filter(isReplay), 5)
        assert.lengthOf(provider.received, 1)
        const [first] = replies
        if (first === undefined) return assert.fail()
        if (stream) assert.strictEqual(textIn(chunksOf(first.text)), "fine")
        assert.strictEqual(yield* settledBalance(tenant.organization), before - costIn(first, stream))
      }
    })
  )
})
