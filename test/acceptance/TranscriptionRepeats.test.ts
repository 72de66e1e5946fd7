/** Transcriptions that are repeated with the same Idempotency-Key after their gateway died: the first charge stands. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { audit, differences, unexplainedCharges } from "../../src/audit/Audit.ts"
import type { OrganizationId } from "../../src/domain/Ids.ts"
import { as, costOf, receiptOf, settledBalance } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"
import { transcribeWith } from "../support/TranscriptionForms.ts"

const fields = { model: "gpt-4o-transcribe" }

const transcript = (text: string, output_tokens: number) =>
  Fake.reply(200, {
    text,
    usage: {
      type: "tokens",
      input_tokens: 10,
      output_tokens,
      total_tokens: 10 + output_tokens,
      input_token_details: { audio_tokens: 10, text_tokens: 0 }
    }
  })

/** The state in which a gateway leaves the database that is killed right after it has written a charge. */
const killedAfterCharge = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE recorded_answer SET claimed_until = to_timestamp(0), outcome = NULL, content_type = NULL,
    answer = NULL WHERE organization_id = ${organization}`
})

describeWithFakeProvider("A repeat of a transcription whose gateway was killed after the charge", (it) => {
  it.effect("tells the charge, in its answer and in the receipt that a header names, and needs no credit", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const tenant = yield* (yield* TestGateway).tenant("0.000001")
      const headers = { ...as(tenant), "idempotency-key": randomUUID() }
      provider.script(transcript("lost", 3), transcript("found", 500))
      const first = yield* transcribeWith(fields, headers)
      const cost = costOf(JSON.parse(first.text))
      yield* killedAfterCharge(tenant.organization)
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("0.000001") - cost)
      const again = yield* transcribeWith(fields, headers)
      assert.strictEqual(again.at("text"), "found")
      assert.deepStrictEqual([costOf(JSON.parse(again.text)), again.at("usage.output_tokens")], [cost, 3])
      const receipt = yield* receiptOf(again.headers.get("idempotent-request-id"), tenant)
      assert.strictEqual(usd(String(receipt.at("cost_usd"))), cost)
      const replay = yield* transcribeWith(fields, headers)
      assert.strictEqual(replay.text, again.text)
      assert.strictEqual(replay.headers.get("idempotent-request-id"), first.headers.get("x-request-id"))
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("0.000001") - cost)
      const report = yield* audit
      assert.deepStrictEqual([report.findings, differences(report), unexplainedCharges(report)], [[], 0, 0])
    })
  )

  it.effect("that fails says that nothing more was charged", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const tenant = yield* (yield* TestGateway).tenant("1")
      const headers = { ...as(tenant), "idempotency-key": randomUUID() }
      provider.script(transcript("lost", 3), ...Array.from({ length: 12 }, () => Fake.error(500)))
      const first = yield* transcribeWith(fields, headers)
      const cost = costOf(JSON.parse(first.text))
      yield* killedAfterCharge(tenant.organization)
      const failed = yield* transcribeWith(fields, headers)
      assert.strictEqual(failed.status, 500)
      assert.match(String(failed.at("error.message")), /Nothing more was charged than an earlier try/)
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - cost)
    })
  )
})
