import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { type CompletionEvent, fold } from "../../../src/domain/Completion.ts"
import type { ResponseFormat } from "../../../src/domain/Conversation.ts"
import { conforming } from "../../../src/providers/dispatch/JsonAnswer.ts"
import { fenceFilter } from "../../../src/providers/dispatch/JsonFences.ts"

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
  // Where the time grew faster than the length, this would take minutes: nothing is measured.
  it("takes no longer for an answer of fences and white space than its length allows", () => {
    for (const filling of ["\n", " ", "\n ", "`", "```", "```\n"]) {
      const text = `\`\`\`${filling.repeat(100_000)}x`
      assert.strictEqual(contentOf(answer(text), asObject), "Nonconforming")
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

  it("knows fences on one line, a fence without its end, and a byte order mark", () => {
    const json = '{"city": "Lima", "degrees": 19}'
    for (const text of [`\`\`\`json ${json} \`\`\``, `\`\`\`${json}\`\`\``, `\`\`\`json\n${json}\n`, `\ufeff${json}`])
      assert.strictEqual(contentOf(answer(text), asSchema), json, text)
  })

  it("takes fences off a stream, however it is cut, and nothing else", () => {
    const json = '{"a": "`` \\n ```", "b": [1]}'
    const texts = {
      [json]: [
        json,
        `\n ${json}`,
        `\`\`\`json\n${json}\n\`\`\``,
        `\`\`\`\n${json}\`\`\` \n`,
        `\ufeff${json}`,
        `\`\`\`${json}\`\`\``
      ],
      "``": ["``"],
      [`${json}${" ".repeat(200)}`]: [`\`\`\`json\n${json}${" ".repeat(200)}\`\`\``]
    }
    for (const [expected, written] of Object.entries(texts))
      for (const text of written)
        for (const size of [1, 2, 3, 5, 7, text.length]) {
          const filter = fenceFilter()
          const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
          const bare = pieces.map(filter.push).join("") + filter.flush()
          assert.strictEqual(bare.trimEnd(), expected.trimEnd(), `${JSON.stringify(text)} in pieces of ${size}`)
        }
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
