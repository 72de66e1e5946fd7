import { assert, describe, it } from "@effect/vitest"

import { withoutQuotations } from "../../src/observability/Quotations.ts"

const request = (text: string) => ({ messages: [{ role: "user", content: [{ type: "text", text }] }], stop: [] })

describe("A message of a provider", () => {
  const prompt = "Dear Ms Quill,\nthe password is swordfish-4711. 我的密码是秘密 Größenwahn"
  const cases: ReadonlyArray<readonly [message: string, shown: string]> = [
    ["Overloaded", "Overloaded"],
    ["The model is overloaded, please try again later.", "The model is overloaded, please try again later."],
    ["Your credit balance is too low.", "Your credit balance is too low."],
    ["Invalid value: 'Dear Ms Quill, the password'.", "Invalid value: '…'."],
    ["Blocked: swordfish", "Blocked: …"],
    ["Blocked: SWORDFISH4711x 4711", "Blocked: SWORDFISH4711x …"],
    ["Cannot read '…password is sword…'", "Cannot read '…'"],
    ["无效内容我的密码", "…"],
    ["Unknown word größenwahn", "Unknown word …"],
    [`A file: ${"QUJD".repeat(20)}`, "A file: …"]
  ]
  for (const [message, shown] of cases)
    it(`is shown as ${shown}`, () => assert.strictEqual(withoutQuotations(message, request(prompt)), shown))

  it("is not shown at all where the request is too long to be searched, and files are not searched", () => {
    assert.strictEqual(withoutQuotations("Overloaded", request("word ".repeat(1_000_000))), "…")
    assert.strictEqual(withoutQuotations("Overloaded", request("QUJD".repeat(2_000_000))), "Overloaded")
    assert.strictEqual(withoutQuotations("Overloaded", { file: { bytes: new Uint8Array(8_000_000) } }), "Overloaded")
  })
})
