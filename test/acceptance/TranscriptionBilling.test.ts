/** The cost of transcriptions, recomputed from what the gateway publishes: receipts, prices and the audit. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { audit } from "../../src/audit/Audit.ts"
import { as, costOf, receiptOf, settledBalance } from "../support/Chat.ts"
import { audioPart, silence } from "../support/Multipart.ts"
import { describeGateway, type Reply, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"
import { fieldParts, transcribe } from "../support/TranscriptionForms.ts"

const credit = usd("1")
const millisPerHour = 3_600_000n

/** Uploads silence of this length. Gives the cost and the receipt, which must agree with each other and the balance. */
const billed = Effect.fnUntraced(function* (model: string, millis: number, tenant: Tenant, balance: bigint) {
  const parts = [audioPart({ content: silence(millis) }), ...fieldParts({ model, prompt: "[say:Seven toll booths.]" })]
  const reply = yield* transcribe(parts, as(tenant))
  assert.strictEqual(reply.status, 200, reply.text)
  assert.strictEqual(reply.at("usage.seconds"), millis / 1_000)
  const cost = costOf(JSON.parse(reply.text))
  const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
  assert.deepStrictEqual(receipt.at("audio"), { ms: millis, basis: "header" })
  assert.strictEqual(recomputed(receipt), cost)
  assert.strictEqual(usd(String(receipt.at("cost_usd"))), cost)
  assert.isTrue(usd(String(receipt.at("held_usd"))) >= cost)
  assert.strictEqual(yield* settledBalance(tenant.organization), balance - cost)
  return { cost, receipt }
})

/** The charge, computed from the receipt alone as the documentation describes it. */
const recomputed = (receipt: Reply): bigint => {
  const perToken = Object.entries(receipt.at("picodollars_per_token") ?? {})
  assert.lengthOf(perToken, 6)
  const tokens = perToken.reduce(
    (sum, [name, rate]) => sum + BigInt(rate) * BigInt(Number(receipt.at(`tokens.${name}`))),
    0n
  )
  const perHour = BigInt(String(receipt.at("picodollars_per_audio_hour") ?? 0))
  const time = BigInt(Number(receipt.at("billed_audio_ms") ?? 0)) * perHour
  return tokens + (time + millisPerHour - 1n) / millisPerHour
}

describeGateway("The bill of a transcription", (it) => {
  it.effect("is for tokens, those of audio at their own price, at a model priced by the token", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      const { cost, receipt } = yield* billed("gpt-4o-transcribe", 2_000, tenant, credit)
      const audio = BigInt(Number(receipt.at("tokens.audio_input")))
      assert.isTrue(audio > 0n && cost > audio * 6_000_000n)
      assert.deepStrictEqual([receipt.at("billed_audio_ms"), receipt.at("picodollars_per_audio_hour")], [null, null])
    })
  )

  it.effect("is for milliseconds at a model priced by the hour, and for the model's minimum below that", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      const whisper = yield* billed("gpt-transcribe", 12_345, tenant, credit)
      assert.deepStrictEqual([whisper.cost, whisper.receipt.at("billed_audio_ms")], [1_234_500_000n as never, 12_345])
      assert.strictEqual(whisper.receipt.at("picodollars_per_audio_hour"), "360000000000")
      // 0.111 USD an hour for at least ten seconds: 308,333,333.3 picodollars.
      const groq = yield* billed("whisper-large-v3", 500, tenant, credit - whisper.cost)
      assert.deepStrictEqual([groq.cost, groq.receipt.at("billed_audio_ms")], [308_333_334n as never, 10_000])
      const { counts } = yield* audit
      assert.deepStrictEqual(counts, {})
    })
  )
})
