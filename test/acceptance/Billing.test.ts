import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type OpenAI from "openai"

import {
  as,
  awaited,
  chunksOf,
  costOf,
  eventually,
  receiptOf,
  refusal,
  settledBalance,
  textIn,
  user
} from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"

const credit = usd("1")
const hello = { model: "gpt-4.1", messages: [user("Hello")], max_completion_tokens: 1_000 }

/** Asserts that the receipt has the charge, and that its tokens times its rates are exactly the charge. */
const assertExplained = (receipt: { readonly at: (path: string) => unknown }, cost: bigint) => {
  assert.strictEqual(usd(String(receipt.at("cost_usd"))), cost)
  const rates = receipt.at("picodollars_per_token") as { readonly [bucket: string]: string }
  assert.lengthOf(Object.keys(rates), 6)
  const sum = Object.entries(rates).reduce(
    (total, [bucket, rate]) => total + BigInt(rate) * BigInt(Number(receipt.at(`tokens.${bucket}`))),
    0n
  )
  assert.strictEqual(sum, cost)
}

describeGateway("Billing", (it) => {
  for (const stream of [false, true])
    it.effect(`charges exactly usage.cost to the balance (${stream ? "streamed" : "plain"})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        let spent = 0n
        for (const model of ["gpt-4.1", "claude-sonnet-5", "svc-auto", "gpt-5-nano"]) {
          const reply = yield* gateway.chat({ model, messages: hello.messages, stream }, as(tenant))
          const answer = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
          const cost = costOf(answer)
          assert.isTrue(cost > 0n)
          spent += cost
          assert.strictEqual(yield* settledBalance(tenant.organization), credit - spent)
          const receipt = yield* receiptOf(answer?.["id"], tenant)
          assert.strictEqual(receipt.at("outcome"), "completed")
          assert.strictEqual(receipt.at("model"), answer?.["model"])
          assert.isTrue(usd(String(receipt.at("held_usd"))) > cost)
          assertExplained(receipt, cost)
        }
      })
    )

  /** Each with a model of its own, because the circuit breaker of an endpoint that failed may be open. */
  const free = {
    "is refused as invalid": { model: "gpt-4.1", temperature: 3, messages: [user("No.")] },
    "names an unknown model": { model: "nobody-1", messages: [user("No.")] },
    "is refused by its provider": { model: "gpt-4o", messages: [user("[fault:400] No.")] },
    "fails at its provider": { model: "gpt-4o-mini", messages: [user("[fault:500] No.")] },
    "is cut": { model: "o3", messages: [user("[fault:cut] No.")] },
    "never begins as a stream": { model: "gpt-5", stream: true, messages: [user("[fault:503] No.")] },
    "is cut as a stream": {
      model: "gpt-5.1",
      stream: true,
      messages: [user("[fault:length 30] [fault:cut after=5] No.")]
    }
  }
  for (const [name, body] of Object.entries(free))
    it.effect(`charges nothing when a request ${name}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const reply = yield* gateway.chat(body, as(tenant))
        assert.include(reply.text, `"error"`)
        assert.strictEqual(yield* settledBalance(tenant.organization), credit)
      })
    )

  it.effect("refuses with 402 when the balance is used up, before anything is sent", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const [none, spent] = [yield* gateway.tenant("0"), yield* gateway.tenant("0.000001")]
      for (const stream of [false, true]) {
        const error = yield* refusal(() => none.openai.chat.completions.create({ ...hello, stream }))
        assert.deepStrictEqual([error.status, error.code], [402, "insufficient_credits"])
      }
      // The last of the credit pays for a whole answer, and the balance becomes negative.
      const last = yield* gateway.chat(hello, as(spent))
      assert.strictEqual(last.status, 200)
      const owed = yield* settledBalance(spent.organization)
      assert.strictEqual(owed, usd("0.000001") - costOf(JSON.parse(last.text)))
      assert.isTrue(owed < 0n)
      const refused = yield* gateway.chat(hello, as(spent))
      assert.deepStrictEqual([refused.status, refused.at("error.code")], [402, "insufficient_credits"])
      assert.strictEqual(yield* settledBalance(spent.organization), owed)
      yield* sql`UPDATE credit_account SET balance = 0 WHERE organization_id = ${spent.organization}`
      assert.strictEqual((yield* gateway.chat(hello, as(spent))).status, 402)
    })
  )

  it.effect("agrees with the receipts to the picodollar after many requests of every kind", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const tenant = yield* gateway.tenant("1")
      const kinds = [
        "",
        "[fault:length 300]",
        "[fault:500 once]",
        "[fault:length 50] [fault:cut after=9]",
        "[fault:400]"
      ]
      const bodies = kinds.flatMap((fault, kind) =>
        ["gpt-4.1-mini", "claude-sonnet-5", "svc-auto", "gpt-4.1-nano"].flatMap((model) =>
          [false, true].map((stream) => ({ ...hello, model, stream, messages: [user(`${fault} Kind ${kind}.`)] }))
        )
      )
      yield* Effect.forEach(bodies, (body) => gateway.chat(body, as(tenant)), { concurrency: "unbounded" })
      const balance = yield* settledBalance(tenant.organization)
      const receipts = yield* eventually(
        Effect.map(
          sql<{ readonly cost: string }>`
            SELECT receipt ->> 'cost' AS cost FROM request_receipt WHERE organization_id = ${tenant.organization}`,
          (rows) => (rows.length === bodies.length ? rows : undefined)
        ),
        "all receipts"
      )
      assert.strictEqual(
        credit - balance,
        receipts.reduce((sum, { cost }) => sum + BigInt(cost), 0n)
      )
      // The usage by quarter hours is written in the statement that writes the receipts.
      for (const table of ["usage_quarter", "usage_label_quarter"]) {
        const [usage] = yield* sql<{ readonly requests: string; readonly cost: string }>`
          SELECT sum(requests)::text AS requests, sum(cost)::text AS cost FROM ${sql(table)}
          WHERE organization_id = ${tenant.organization}`
        assert.deepStrictEqual(usage, { requests: String(bodies.length), cost: String(credit - balance) })
      }
      const charged = receipts.filter(({ cost }) => cost !== "0").length
      assert.isTrue(charged > 10 && charged < bodies.length)
    })
  )

  it.effect("shows a receipt only to the organization that paid", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const [mine, theirs] = [yield* gateway.tenant("1"), yield* gateway.tenant("1")]
      const reply = yield* gateway.chat({ ...hello, metadata: { call_name: "greeting" } }, as(mine))
      const id = String(reply.at("id"))
      const receipt = yield* receiptOf(id, mine)
      assert.strictEqual(receipt.at("id"), id)
      assert.strictEqual(receipt.at("call_name"), "greeting")
      assert.strictEqual(receipt.at("requested_model"), "gpt-4.1")
      for (const [path, headers] of [
        [`/v1/generations/${id}`, as(theirs)],
        [`/v1/generations/${id}`, {}],
        ["/v1/generations/chatcmpl-00000000-0000-0000-0000-000000000000", as(mine)],
        ["/v1/generations/nonsense", as(mine)]
      ] as const) {
        const found = yield* gateway.request("GET", path, undefined, headers)
        assert.deepStrictEqual([found.status, found.at("error.code")], [404, "not_found"])
      }
    })
  )

  it.effect("leaves no hold open", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      yield* eventually(
        Effect.map(gateway.openHolds, (count) => (count === 0 ? true : undefined)),
        "no open holds"
      )
    })
  )
})

describeWithFakeProvider("Billing of many requests at once", (it) => {
  it.effect("lets an organization overdraw by at most one hold", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const body = { ...hello, model: "gpt-4.1-mini" }
      const probe = yield* gateway.chat(body)
      const hold = usd(String((yield* receiptOf(probe.at("id"))).at("held_usd")))
      const tenant = yield* gateway.tenant("0.005")
      const [fitting, refused] = [Number(usd("0.005") / hold) + 1, 9]
      // No request is answered, and releases its hold, before every other one has got a hold or been refused.
      let left = fitting + refused
      const [undecided, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const decided = () => {
        if (--left === 0) undecided.resolve()
      }
      provider.script(async (response, received) => {
        decided()
        await answer.promise
        return Fake.answers("ok")(response, received)
      })
      const answered = Effect.forEach(
        Array.from({ length: left }),
        () =>
          Effect.map(gateway.chat(body, as(tenant)), ({ status }) => {
            if (status !== 200) decided()
            return status
          }),
        { concurrency: "unbounded" }
      )
      // Until then holds only come, so that this is the lowest balance.
      const atLowest = Effect.gen(function* () {
        yield* awaited(undecided.promise, "a hold or a refusal for each request")
        const { available } = yield* gateway.balance(tenant.organization)
        answer.resolve()
        return available
      })
      const [statuses, lowest] = yield* Effect.all([answered, atLowest], { concurrency: "unbounded" })
      assert.strictEqual(statuses.filter((status) => status === 200).length, fitting)
      assert.strictEqual(statuses.filter((status) => status === 402).length, refused)
      assert.strictEqual(lowest, usd("0.005") - hold * BigInt(fitting))
      assert.isTrue(lowest > -hold)
      const after = yield* settledBalance(tenant.organization)
      assert.strictEqual(after, usd("0.005") - costOf(JSON.parse(probe.text)) * BigInt(fitting))
    })
  )
})

/** Starts a stream, and leaves it after this number of chunks with text. */
const leaveAfter = (openai: OpenAI, body: OpenAI.ChatCompletionCreateParamsStreaming, chunks: number) =>
  Effect.promise(async () => {
    const stream = await openai.chat.completions.create(body)
    let id = ""
    let whole = ""
    let seen = 0
    for await (const chunk of stream) {
      id = chunk.id
      const text = chunk.choices[0]?.delta.content ?? ""
      whole += text
      if (text !== "" && ++seen === chunks) break
    }
    return { id, text: whole }
  })

/** Sends a request that gets no answer, and leaves once it has reached the provider. */
const hangUp = Effect.fnUntraced(function* (tenant: Tenant, body: object) {
  const gateway = yield* TestGateway
  const provider = yield* FakeProvider
  const controller = new AbortController()
  const answered = fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    signal: controller.signal,
    headers: { ...as(tenant), "content-type": "application/json" },
    body: JSON.stringify(body)
  }).catch(() => undefined)
  const call = yield* awaited(provider.arrival(), "the call of the provider")
  controller.abort()
  yield* Effect.promise(() => answered)
  return call
})

const role = Fake.openaiChunk({ role: "assistant", content: "" })
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index} `)

describeWithFakeProvider("A client that leaves", (it) => {
  for (const stream of [false, true])
    it.effect(
      `before the first output pays nothing, and the call of the provider is cancelled (stream: ${stream})`,
      () =>
        Effect.gen(function* () {
          const provider = yield* FakeProvider
          const gateway = yield* TestGateway
          const tenant = yield* gateway.tenant("1")
          provider.script(stream ? Fake.streams([role], { ending: "open" }) : Fake.hangs)
          const call = yield* hangUp(tenant, { ...hello, stream })
          yield* awaited(call.aborted, "the end of the provider's connection")
          assert.strictEqual(yield* settledBalance(tenant.organization), credit)
          assert.lengthOf(provider.received, 1)
        })
    )

  it.effect("after the first output pays for what was delivered, when the provider has not reported its usage", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const chunks = words(500).map((content) => Fake.openaiChunk({ content }))
      provider.script(Fake.streams([role, ...chunks], { everyMillis: 5, ending: "open" }))
      const { id, text } = yield* leaveAfter(tenant.openai, { ...hello, stream: true }, 20)
      const { aborted } = yield* awaited(provider.arrival(), "the call of the provider")
      yield* awaited(aborted, "the end of the provider's connection")
      const receipt = yield* receiptOf(id, tenant)
      assert.strictEqual(receipt.at("outcome"), "client_left")
      assert.isTrue(receipt.at("tokens.estimated"))
      const charged = credit - (yield* settledBalance(tenant.organization))
      assertExplained(receipt, charged)
      assert.lengthOf(text.split(" "), 21)
      // What was in flight when the client left counts as delivered; 500 words would be far more.
      assert.isAtLeast(Number(receipt.at("tokens.output")), 20)
      assert.isBelow(Number(receipt.at("tokens.output")), 400)
    })
  )

  it.effect("pays for the prompt tokens that the provider reported", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const usage = { input_tokens: 200, cache_read_input_tokens: 300, output_tokens: 1 }
      const begin = [
        Fake.namedEvent("message_start", { message: { id: "msg_1", role: "assistant", content: [], usage } }),
        Fake.namedEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
      ]
      const delta = (text: string) =>
        Fake.namedEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } })
      provider.script(Fake.streams([...begin, ...words(300).map(delta)], { everyMillis: 5, ending: "open" }))
      const body = { ...hello, model: "claude-sonnet-5", stream: true } as const
      const { id } = yield* leaveAfter(tenant.openai, body, 5)
      const receipt = yield* receiptOf(id, tenant)
      assert.deepStrictEqual([receipt.at("tokens.input"), receipt.at("tokens.cache_read")], [200, 300])
      assert.isAtLeast(Number(receipt.at("tokens.output")), 5)
      const charged = credit - (yield* settledBalance(tenant.organization))
      assert.strictEqual(usd(String(receipt.at("cost_usd"))), charged)
    })
  )

  it.effect("never pays more than the hold", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const usage = { input_tokens: 90_000, output_tokens: 1 }
      provider.script(
        Fake.streams(
          [
            Fake.namedEvent("message_start", { message: { id: "m", role: "assistant", content: [], usage } }),
            Fake.namedEvent("content_block_start", { index: 0, content_block: { type: "text", text: "Hi" } })
          ],
          { ending: "open" }
        )
      )
      const body = { ...hello, model: "claude-opus-5", max_completion_tokens: 1, stream: true } as const
      const { id } = yield* leaveAfter(tenant.openai, body, 1)
      const receipt = yield* receiptOf(id, tenant)
      const charged = credit - (yield* settledBalance(tenant.organization))
      assert.strictEqual(charged, usd(String(receipt.at("held_usd"))))
      assert.strictEqual(charged, usd(String(receipt.at("cost_usd"))))
    })
  )

  it.effect("after the end pays for the whole answer", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      provider.script(Fake.answers("Whole."))
      const reply = yield* gateway.chat({ ...hello, stream: true }, as(tenant))
      assert.strictEqual(textIn(chunksOf(reply.text)), "Whole.")
      // 10 tokens in and 5 out at $2 and $8 per million.
      assert.strictEqual(credit - (yield* settledBalance(tenant.organization)), 60_000_000n)
    })
  )

  it.effect("leaves no hold open", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      yield* eventually(
        Effect.map(gateway.openHolds, (count) => (count === 0 ? true : undefined)),
        "no open holds"
      )
    })
  )
})
