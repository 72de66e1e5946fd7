import { assert, describe, it } from "@effect/vitest"

import { violationOf } from "../../src/domain/SchemaCheck.ts"

const tree = {
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["id"] } },
  $ref: "#/$defs/node"
}

/** A schema, values that conform to it, and values that do not. */
const cases: ReadonlyArray<readonly [schema: object, good: ReadonlyArray<unknown>, bad: ReadonlyArray<unknown>]> = [
  [{}, [1, null, "a", [], {}], []],
  [{ type: "integer" }, [1, -3, 1e3], [1.5, "1", null]],
  [{ type: ["string", "null"] }, ["", null], [0, false]],
  [{ enum: ["a", { b: [1] }] }, ["a", { b: [1] }], ["b", { b: [2] }, { b: [1], c: 1 }]],
  [{ const: 3 }, [3], [4, "3"]],
  [{ minimum: 1, exclusiveMaximum: 3 }, [1, 2.9, "not a number"], [0, 3]],
  [{ multipleOf: 0.1 }, [0.3, 2], [0.25]],
  [{ minLength: 2, maxLength: 3 }, ["ab", "\u{1f600}\u{1f600}"], ["a", "abcd"]],
  [{ items: { type: "number" }, minItems: 1 }, [[1], [1, 2]], [[], [1, "2"]]],
  [{ prefixItems: [{ type: "string" }], items: false }, [["a"], []], [[1], ["a", 1]]],
  [{ anyOf: [{ type: "string" }, { type: "object", required: ["a"] }] }, ["x", { a: 1 }], [1, {}]],
  [{ oneOf: [{ minimum: 5 }, { maximum: 10 }] }, [4, 11], [7]],
  [{ allOf: [{ type: "number" }, { minimum: 2 }], not: { const: 3 } }, [2], [1, 3]],
  [{ properties: { a: { type: "string" } }, additionalProperties: false }, [{}, { a: "" }], [{ a: 1 }, { b: 1 }]],
  [{ additionalProperties: { type: "number" } }, [{ a: 1 }], [{ a: "1" }]],
  [{ required: ["__proto__", "toString"] }, [JSON.parse('{"__proto__": 1, "toString": 2}')], [{}]],
  [tree, [{ id: 1 }, { id: 1, next: { id: 2 } }], [{}, { id: 1, next: {} }]],
  [{ $ref: "https://example.com/schema" }, [1, {}], []],
  [{ $ref: "#" }, [1], []],
  // What is not known may fit or not, so it neither breaks `not` nor counts as one of two that fit.
  [{ not: { pattern: "^x" } }, ["a", "x"], []],
  [{ not: { type: "string", pattern: "^x" } }, ["a", "x", 1], []],
  [{ not: { $ref: "https://example.com/schema" } }, [1], []],
  [{ not: { anyOf: [{ format: "email" }, { const: 1 }] } }, ["a", 2], [1]],
  [
    {
      oneOf: [
        { type: "string", format: "date" },
        { type: "string", format: "email" }
      ]
    },
    ["a@b.c"],
    [1]
  ],
  [{ oneOf: [{ pattern: "^a" }, { type: "string" }, { maxLength: 1 }] }, ["ab"], ["a"]],
  [
    JSON.parse('{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}'),
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1 }, {}]
  ],
  [JSON.parse('{"if": {"pattern": "^x"}, "then": false, "else": false}'), ["a"], []],
  [
    { uniqueItems: true },
    [[1, "1", { a: 1, b: 2 }], []],
    [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 }
      ]
    ]
  ],
  [{ items: [{ type: "string" }], additionalItems: false }, [["a"]], [["a", 1]]],
  [{ not: false, oneOf: [true, false] }, [1], []],
  [{ not: true }, [], [1]],
  [{ type: "unheard of", pattern: "(a+)+$", format: "email" }, ["a", 1], []]
]

describe("SchemaCheck", () => {
  for (const [schema, good, bad] of cases) {
    it(JSON.stringify(schema), () => {
      for (const value of good) assert.isUndefined(violationOf(value, { ...schema }), JSON.stringify(value))
      for (const value of bad) assert.isString(violationOf(value, { ...schema }), JSON.stringify(value))
    })
  }

  it("gives up on schemas that would take forever", () => {
    const bomb = { $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a", not: {} }
    // The work is bounded, so both checks end: unbounded, the first alone would take 2 to the power of 200 steps.
    assert.isString(violationOf(1, bomb))
    violationOf(1, { oneOf: Array.from({ length: 1_000 }, () => ({ $ref: "#" })) })
    // Each of these would take 100,000 times 100,000 steps.
    const many = Array.from({ length: 100_000 }, (_, index) => `${index}`)
    violationOf(many, { items: { enum: many.map((name) => `${name}.`) } })
    violationOf(many, { items: { type: many } })
    violationOf(
      many.map(() => ({})),
      { items: { required: many } }
    )
    violationOf(many, { items: { $ref: `#${"/a".repeat(100_000)}` } })
    violationOf(many.join(""), { anyOf: many.map(() => ({ maxLength: 1 })) })
  })
})
