import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { type CompletionEvent, fold } from "../../../src/domain/Completion.ts"
import type { ResponseFormat } from "../../../src/domain/Conversation.ts"
import { conforming } from "../../../src/providers/dispatch/JsonAnswer.ts"

const schema = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "integer" } },
  required: ["city", "degrees"],
  additionalProperties: false
}
const asObject: ResponseFormat = { type: "json_object" }
const asSchema: ResponseFormat = { type: "json_schema", name: "weather", strict: true, schema }

const answer = (...texts: ReadonlyArray<string>): ReadonlyArray<CompletionEvent> => [
  { type: "reasoning", text: "Hm." },
  ...texts.map((text): CompletionEvent => ({ type: "text", text })),
  { type: "finish", reason: "stop" }
]

const contentOf = (events: ReadonlyArray<CompletionEvent>, format: ResponseFormat): string =>
  Result.match(conforming(events, format), {
    onSuccess: (kept) => fold(kept).content,
    onFailure: ({ reason }) => reason._tag
  })

describe("JsonAnswer", () => {
  it("takes no longer for an answer of fences and white space than its length allows", () => {
    for (const filling of ["\n", " ", "\n ", "`", "```", "```\n"]) {
      const text = `\`\`\`${filling.repeat(100_000)}x`
      const started = process.hrtime.bigint()
      assert.strictEqual(contentOf(answer(text), asObject), "Nonconforming")
      assert.isBelow(Number(process.hrtime.bigint() - started) / 1e6, 1_000)
    }
  })

  it("keeps answers that are what was promised, and takes the fences off", () => {
    for (const format of [asObject, asSchema]) {
      const json = '{"city": "Lima", "degrees": 19}'
      assert.strictEqual(contentOf(answer(json), format), json)
      assert.strictEqual(contentOf(answer('{"city": "Lima", ', '"degrees": 19}\n'), format), `${json}\n`)
      assert.strictEqual(contentOf(answer("```json\n", json, "\n```"), format), json)
      assert.strictEqual(contentOf(answer(`\n\`\`\`\n${json}\n\`\`\`\n`), format), json)
    }
    const [reasoning, text] = Result.getOrThrow(conforming(answer("```json\n", "{}", "\n```"), asObject))
    assert.deepStrictEqual([reasoning?.type, text], ["reasoning", { type: "text", text: "{}" }])
  })

  it("fails for everything else", () => {
    for (const text of ["", "Sure! {}", "{", "```json\n{\n```", "{} {}", '{"city": "Lima",}'])
      assert.strictEqual(contentOf(answer(text), asObject), "Nonconforming", text)
    for (const text of ["[]", '{"city": "Lima"}', '{"city": 1, "degrees": 1}', '{"city": "", "degrees": 1, "x": 1}'])
      assert.strictEqual(contentOf(answer(text), asSchema), "Nonconforming", text)
  })

  it("leaves alone what promises no JSON", () => {
    const [event] = answer("No.").slice(1)
    const text = event ?? assert.fail()
    assert.strictEqual(contentOf(answer("No."), { type: "text" }), "No.")
    const unfinished: ReadonlyArray<ReadonlyArray<CompletionEvent>> = [
      [text, { type: "finish", reason: "length" }],
      [text, { type: "finish", reason: "content_filter" }],
      [text, { type: "refusal", text: "I will not." }, { type: "finish", reason: "stop" }],
      [text, { type: "tool", index: 0, id: "1", name: "f" }, { type: "finish", reason: "tool_calls" }]
    ]
    for (const events of unfinished) assert.strictEqual(contentOf(events, asSchema), "No.")
  })
})
