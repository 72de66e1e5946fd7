/** A receipt can be asked for as soon as its client knows how the request ended, on every engine. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway } from "../support/TestGateway.ts"

const hello = { model: "gpt-4.1", messages: [user("Hello")] }
const role = Fake.openaiChunk({ role: "assistant", content: "" })
const word = Fake.openaiChunk({ content: "word " })

interface Ending {
  readonly outcome: string
  readonly stream: boolean
  readonly behaviour: Fake.Behaviour
  readonly credit?: string
}

const endings: Record<string, Ending> = {
  "a plain answer": { outcome: "completed", stream: false, behaviour: Fake.answers("fine") },
  "a streamed answer": { outcome: "completed", stream: true, behaviour: Fake.answers("fine") },
  "a stream that broke": {
    outcome: "broken",
    stream: true,
    behaviour: Fake.streams([role, word, word, word], { everyMillis: 20, ending: "cut" })
  },
  "a refusal by the provider": { outcome: "invalid_request", stream: false, behaviour: Fake.error(400) },
  "a refusal by the provider, streamed": { outcome: "invalid_request", stream: true, behaviour: Fake.error(400) },
  "a refusal for want of credit": {
    outcome: "insufficient_credits",
    stream: false,
    behaviour: Fake.answers("never"),
    credit: "0"
  },
  "a refusal for want of credit, streamed": {
    outcome: "insufficient_credits",
    stream: true,
    behaviour: Fake.answers("never"),
    credit: "0"
  }
}

const times = 5

describeWithFakeProvider("A receipt", (it) => {
  it.effect("of a chat has the end user of the header or of the metadata, as it was sent", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const cases = [
        [{ "x-end-user-id": "u-1" }, { end_user_id: "u-2" }, "u-1"],
        [{}, { end_user_id: "u-2" }, "u-2"],
        [{}, { end_user_id: "  " }, null],
        [{}, {}, null]
      ] as const
      for (const [headers, metadata, expected] of cases) {
        const reply = yield* gateway.chat({ ...hello, metadata }, headers)
        assert.strictEqual(reply.status, 200, reply.text)
        const receipt = yield* gateway.request("GET", `/v1/generations/${reply.headers.get("x-request-id")}`)
        assert.strictEqual(receipt.at("end_user_id"), expected)
      }
      const tooLong = yield* gateway.chat(hello, { "x-end-user-id": "u".repeat(513) })
      assert.deepStrictEqual([tooLong.status, tooLong.at("error.code")], [400, "invalid_end_user_id"])
    })
  )

  for (const [what, { behaviour, credit = "1", outcome, stream }] of Object.entries(endings))
    it.effect(`is there right after ${what}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant(credit)
        for (let count = 0; count < times; count++) {
          provider.script(behaviour)
          const reply = yield* gateway.chat({ ...hello, stream }, as(tenant))
          const id = reply.headers.get("x-request-id")
          const receipt = yield* gateway.request("GET", `/v1/generations/${id}`, undefined, as(tenant))
          assert.deepStrictEqual([receipt.status, receipt.at("outcome")], [200, outcome], receipt.text)
        }
      })
    )
})
