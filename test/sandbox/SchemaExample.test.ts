import { assert, describe, it } from "@effect/vitest"

import { schemaExample } from "../../src/sandbox/SchemaExample.ts"

describe("schemaExample", () => {
  const tree = { type: "object", properties: { child: { $ref: "#/$defs/tree" } } }
  const table: ReadonlyArray<readonly [string, object, unknown]> = [
    ["constants before types", { const: 7, type: "string" }, 7],
    ["the first of an enum", { enum: ["a", "b"] }, "a"],
    ["required properties only", { properties: { a: {}, b: { type: "integer" } }, required: ["b"] }, { b: 1 }],
    ["all properties when none is required", { type: "object", properties: { a: { type: "boolean" } } }, { a: true }],
    ["bounds of numbers", { type: "number", exclusiveMinimum: 3, multipleOf: 5 }, 5],
    ["an upper bound below one", { type: "integer", maximum: -2 }, -2],
    ["lengths of strings", { type: "string", minLength: 9, maxLength: 9 }, "sandbox.."],
    ["formats", { type: "string", format: "date" }, "2026-01-01"],
    ["lengths of arrays", { type: "array", items: { type: "null" }, minItems: 2 }, [null, null]],
    ["nullable types", { type: ["null", "string"] }, null],
    ["the first branch", { anyOf: [{ type: "integer" }, { type: "string" }] }, 1],
    ["everything together", { allOf: [{ required: ["a"] }, { properties: { a: { const: 1 }, b: {} } }] }, { a: 1 }],
    ["references", { $ref: "#/$defs/x", $defs: { x: { const: "found" } } }, "found"]
  ]
  for (const [name, schema, expected] of table) {
    it(`honours ${name}`, () => {
      assert.deepStrictEqual(schemaExample({ ...schema }), expected)
    })
  }

  it("ends for a schema that contains itself", () => {
    assert.isBelow(JSON.stringify(schemaExample({ ...tree, $defs: { tree } })).length, 1_000)
    const demanding = { type: "object", properties: { child: { $ref: "#/$defs/demanding" } }, required: ["child"] }
    assert.isBelow(JSON.stringify(schemaExample({ ...demanding, $defs: { demanding } })).length, 1_000)
  })
})
