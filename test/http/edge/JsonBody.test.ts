import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import * as JsonBody from "../../../src/http/edge/JsonBody.ts"

const messageOf = (text: string): string => {
  const parsed = JsonBody.parseJsonBody(text)
  return Result.isFailure(parsed) ? parsed.failure.message : assert.fail(`accepted ${text.slice(0, 80)}`)
}

const nested = (depth: number, open: string, close: string, inner = ""): string =>
  open.repeat(depth) + inner + close.repeat(depth)

describe("JsonBody", () => {
  it.prop("parses JSON to the same value as JSON.parse", { value: Schema.Json }, ({ value }) => {
    const text = JSON.stringify(value)
    assert.deepStrictEqual(JsonBody.parseJsonBody(text), Result.succeed(JSON.parse(text)))
  })

  it("allows equal keys in different objects, in arrays and as values", () => {
    for (const text of [
      '{"a":{"a":1},"b":{"a":{"a":2}}}',
      '[{"a":1},{"a":1}]',
      '{"a":"a","b":"a"}',
      '{"a":["a","a",{"a":"a"}],"b":1}',
      '{"a":[],"b":[]}',
      '{"a\\"":1,"a":2}',
      '{"\\\\":1,"\\\\\\\\":2}',
      '{"A":1,"a":2}',
      '{"{\\"a\\":1,\\"a\\":2}":"{\\"a\\":1,\\"a\\":2}"}'
    ]) {
      assert.isTrue(Result.isSuccess(JsonBody.parseJsonBody(text)), text)
    }
  })

  it("limits the number of objects and arrays in a body", () => {
    const { maxContainers } = JsonBody
    const many = (count: number) => `[${Array.from({ length: count }, () => "{}").join(",")}]`
    assert.isTrue(Result.isSuccess(JsonBody.parseJsonBody(many(maxContainers - 1))))
    assert.strictEqual(
      messageOf(many(maxContainers)),
      `The request body has more than ${maxContainers} objects and arrays`
    )
  })

  it("reports a repeated key, wherever it is and however it is escaped", () => {
    const repeated = /^The request body repeats the key "a" in one object$/
    for (const text of [
      '{"a":1,"a":2}',
      '{"a":1, "b":{"c":[1,{"d":2}]}, "a":2}',
      '{"x":[{"b":1,"a":[],"c":{},"a":2}]}',
      '{"a":1,"\\u0061":2}',
      '{"\\u0061":1,"a":2}'
    ]) {
      assert.match(messageOf(text), repeated, text)
    }
    assert.include(messageOf(`{"${"k".repeat(500)}":1,"${"k".repeat(500)}":2}`), `${"k".repeat(64)}…`)
  })

  it("allows 128 levels of nesting and no more", () => {
    for (const [open, close, inner] of [
      ["[", "]", ""],
      ['{"a":', "}", "1"],
      ['[{"a":', "}]", "1"]
    ] as const) {
      const levels = open.length > 5 ? 2 : 1
      const most = nested(JsonBody.maxDepth / levels, open, close, inner)
      assert.isTrue(Result.isSuccess(JsonBody.parseJsonBody(most)), open)
      assert.match(messageOf(`[${most}]`), /nests deeper than 128 levels/)
    }
    assert.isTrue(Result.isSuccess(JsonBody.parseJsonBody(`["${"[".repeat(1_000)}"]`)))
  })

  it("refuses deep nesting before parsing, so that millions of brackets are cheap", () => {
    for (const text of ["[".repeat(8_000_000), nested(4_000_000, "[", "]"), '{"a":'.repeat(1_000_000)]) {
      assert.match(messageOf(text), /nests deeper/)
    }
  })

  it("reports the position of malformed JSON where the parser knows it, and never quotes the text", () => {
    for (const text of [
      "{",
      '{"a"}',
      "[1,]",
      '{"a":secret}',
      '"secret',
      '{"a":"\\x"}',
      "nul",
      "{}{}",
      '{"a":1}secret'
    ]) {
      const message = messageOf(text)
      assert.match(message, /^The request body is not valid JSON( \(at character \d+\))?$/, text)
    }
    assert.match(messageOf("[1 2]".padEnd(100)), /at character 3|not valid JSON$/)
  })
})
