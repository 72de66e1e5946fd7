import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import {
  decodeReceipt,
  encodeChargeFacts,
  encodeDetail,
  encodeReceipt,
  StoredReceipt
} from "../../src/receipts/StoredReceipt.ts"
import { organization, receiptOf } from "./receipts.ts"

/** A receipt in the format of the first version. */
const old = {
  id: "018f0000-0000-7000-9000-000000000001",
  organization,
  project: "018f0000-0000-7000-8000-00000000000b",
  environment: "018f0000-0000-7000-8000-00000000000c",
  key: "018f0000-0000-7000-8000-00000000000d",
  atMillis: 1_700_000_000_123,
  stream: true,
  outcome: "completed",
  served: { model: "gpt-5-mini", endpoint: "openai/gpt-5-mini" },
  routing: { latencyMillis: 0.5, pinned: false, demand: { math: 1 }, difficulty: 0.5, candidates: [], excluded: [] },
  attempts: [],
  usage: { input: 10, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, audioInput: 0, output: 2, reasoning: 0 },
  usageEstimated: false,
  catalogVersion: "0123456789ab",
  rates: { input: "250000", cacheRead: "1", cacheWrite5m: "1", cacheWrite1h: "1", audioInput: "1", output: "2000000" },
  held: "10000000",
  cost: "6500000",
  durationMillis: 321,
  firstOutputMillis: 100
}

describe("StoredReceipt", () => {
  it.effect.prop(
    "decodes every receipt to what was encoded, to the last picodollar",
    { receipt: StoredReceipt },
    ({ receipt }) =>
      Effect.gen(function* () {
        // Receipts are compared as they are stored, with the characters replaced that PostgreSQL cannot store.
        const stored = JSON.parse(encodeReceipt(receipt))
        assert.deepStrictEqual(JSON.parse(encodeReceipt(yield* decodeReceipt(stored))), stored)
        assert.strictEqual((yield* decodeReceipt(stored)).cost, receipt.cost)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect.prop(
    "writes the same where no text needs a replacement as where some does",
    { receipt: StoredReceipt },
    ({ receipt }) =>
      Effect.sync(() => {
        const whole = JSON.parse(encodeReceipt(receipt))
        for (const [member, value] of Object.entries(JSON.parse(encodeDetail(receipt))))
          assert.deepStrictEqual(value, whole[member])
        const { attempts: _attempts, cost, id, organization: _organization, served, usage, ...rest } = receipt
        if (served === undefined || usage === undefined) return
        const { rateDivisor: _divisor, rates: _rates, routing: _routing, unchargedUsage: _uncharged, ...shared } = rest
        for (const [member, value] of Object.entries(JSON.parse(encodeChargeFacts({ ...shared, served, usage }))))
          assert.deepStrictEqual(value, whole[member])
        assert.strictEqual(whole.cost, String(cost))
        assert.strictEqual(whole.id, id)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect("decodes the receipts of versions that had neither audio nor end users, and adds nothing to them", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(JSON.parse(encodeReceipt(yield* decodeReceipt(old))), old)
    })
  )

  it.effect("changes nothing in a receipt of plain text", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* decodeReceipt(JSON.parse(encodeReceipt(receiptOf(1)))), receiptOf(1))
    })
  )
})
