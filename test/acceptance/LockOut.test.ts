/** Money that is held for some requests of an organization does not lock out its others. */
import { assert } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"

import { toUsd } from "../../src/domain/Money.ts"
import { as, at, awaited, chunksOf, costOf, eventually, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import {
  describeWithFakeProvider,
  describeWithFakeProviderOnPostgres,
  layerGateway,
  type Reply,
  type Tenant,
  TestGateway,
  usd
} from "../support/TestGateway.ts"

/** At $10 per million, the 2,048 tokens that are expected of an answer without a limit are held with 0.02 USD. */
const body = { model: "gpt-5", messages: [user("Hello.")] }
/** An answer that costs $0.0001. */
const usage = { prompt_tokens: 8, completion_tokens: 9, total_tokens: 17 }
const calls = 12

/** The provider answers nobody before `open` is called. */
const shut = (provider: FakeProvider["Service"]): (() => void) => {
  const opened = Promise.withResolvers<void>()
  provider.script(async (response, received) => {
    await opened.promise
    return Fake.answers("ok", { usage })(response, received)
  })
  return opened.resolve
}

/** Twelve calls at once, spread over the gateways. Three find credit, and the provider answers nobody before them. */
const twelveAtOnce = Effect.fnUntraced(function* (gateways: ReadonlyArray<TestGateway["Service"]>, tenant: Tenant) {
  const provider = yield* FakeProvider
  const open = shut(provider)
  const answering = yield* Effect.forEach(
    Array.from({ length: calls }, (_, index) => gateways[index % gateways.length]),
    (gateway) => gateway?.chat(body, as(tenant)) ?? assert.fail("no gateway"),
    { concurrency: "unbounded" }
  ).pipe(Effect.forkChild)
  yield* awaited(provider.arrival(3), "the calls that find credit")
  open()
  return yield* Fiber.join(answering)
})

const assertAnswered = Effect.fnUntraced(function* (replies: ReadonlyArray<Reply>, tenant: Tenant) {
  for (const { status, text } of replies) assert.strictEqual(status, 200, text)
  const spent = replies.reduce((sum, { text }) => sum + costOf(JSON.parse(text)), 0n)
  assert.strictEqual(spent, 100_000_000n * BigInt(calls))
  assert.strictEqual(yield* settledBalance(tenant.organization), usd("0.05") - spent)
})

describeWithFakeProvider("Calls for which the credit is held by others", (it) => {
  it.effect("are all answered: twelve small ones at once on five cents, of which three find credit", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("0.05")
      yield* assertAnswered(yield* twelveAtOnce([gateway], tenant), tenant)
    })
  )

  for (const stream of [false, true])
    it.effect(`get a shorter answer when they wait in vain, and say so (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("0.01")
        const open = shut(provider)
        // More than the whole credit is held for the first call.
        const first = yield* Effect.forkChild(gateway.chat(body, as(tenant)))
        yield* awaited(provider.arrival(1), "the first call")
        const second = yield* Effect.forkChild(gateway.chat({ ...body, stream }, as(tenant)))
        const { body: sent } = yield* awaited(provider.arrival(2), "the second call")
        open()
        yield* Fiber.join(first)
        const answer = yield* Fiber.join(second)
        const limit = Number(at(sent, "max_output_tokens"))
        assert.isTrue(limit >= 256 && limit < 1_000, `${limit} tokens`)
        const adjusted = `max_completion_tokens=${limit}`
        if (stream) assert.deepStrictEqual(at(chunksOf(answer.text).at(-1), "svc", "adjusted"), [adjusted])
        else assert.strictEqual(answer.headers.get("x-svc-adjusted"), adjusted)
        const receipt = yield* receiptOf(answer.headers.get("x-request-id"), tenant)
        assert.deepStrictEqual(receipt.at("adjusted"), [adjusted])
        assert.isTrue(usd(String(receipt.at("held_usd"))) < usd("0.01"))
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("0.01") - 200_000_000n)
      })
    )

  it.effect("are refused, with what is held, when not even a short answer can be paid beside the others", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("0.002")
      const open = shut(yield* FakeProvider)
      const first = yield* Effect.forkChild(gateway.chat(body, as(tenant)))
      const held = yield* eventually(
        Effect.map(gateway.balance(tenant.organization), ({ held }) => (held > 0n ? held : undefined)),
        "the hold of the first call"
      )
      const refused = yield* gateway.chat(body, as(tenant))
      assert.deepStrictEqual([refused.status, refused.at("error.code")], [402, "insufficient_credits"])
      const message = String(refused.at("error.message"))
      assert.include(message, `which is not spent: it has 0.002 USD, and ${toUsd(held)} USD are held`)
      open()
      assert.strictEqual((yield* Fiber.join(first)).status, 200)
    })
  )
})

describeWithFakeProvider("The hold of a request without an output limit", (it) => {
  it.effect("is what such requests of its organization really needed, once there are fifty of them", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const [known, other] = [yield* gateway.tenant("5"), yield* gateway.tenant("5")]
      provider.script(Fake.answers("ok", { usage }))
      const heldFor = Effect.fnUntraced(function* (tenant: Tenant, options: object = {}) {
        const reply = yield* gateway.chat({ ...body, ...options }, as(tenant))
        return usd(String((yield* receiptOf(reply.at("id"), tenant)).at("held_usd")))
      })
      const first = yield* heldFor(known)
      for (let count = 2; count < 50; count++) yield* gateway.chat(body, as(known))
      assert.strictEqual(yield* heldFor(known), first)
      // Nine tokens of output count as up to nine and a half; the other 2,039 are not held any more.
      assert.strictEqual(yield* heldFor(known), first - 2_039n * 10_000_000n)
      assert.strictEqual(yield* heldFor(other), first)
      assert.strictEqual(yield* heldFor(known, { max_completion_tokens: 2_048 }), first)
      assert.strictEqual(yield* heldFor(known, { reasoning_effort: "low" }), first)
    })
  )
})

describeWithFakeProviderOnPostgres("Twelve small calls at once on five cents, at two gateways", (it) => {
  it.effect("are all answered", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const replica = Context.get(yield* Layer.build(layerGateway(gateway.variables)), TestGateway)
      const tenant = yield* gateway.tenant("0.05")
      yield* assertAnswered(yield* twelveAtOnce([gateway, replica], tenant), tenant)
    })
  )
})
