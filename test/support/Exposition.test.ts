import { assert, describe, it } from "@effect/vitest"

import { parseExposition, sumOf } from "./Exposition.ts"

const histogram = (lines: ReadonlyArray<string>) => ["# TYPE h histogram", ...lines, ""].join("\n")

describe("The parser of Prometheus' format", () => {
  it("reads names, labels and values", () => {
    const text = '# HELP a_total All.\n# TYPE a_total counter\na_total{b="x\\"\\\\\\ny",c=""} 2\na_total 1e3\n'
    const families = parseExposition(text)
    assert.deepStrictEqual(families.get("a_total"), {
      name: "a_total",
      type: "counter",
      help: "All.",
      samples: [
        { name: "a_total", labels: { b: 'x"\\\ny', c: "" }, value: 2 },
        { name: "a_total", labels: {}, value: 1_000 }
      ]
    })
    assert.strictEqual(sumOf(families, "a_total"), 1_002)
    assert.strictEqual(sumOf(families, "a_total", { c: "" }), 2)
  })

  it.each([
    ["# TYPE a counter\na 1", "the last line"],
    ["a 1\n", "no TYPE"],
    ["# TYPE a gauge\na one\n", "no sample"],
    ["# TYPE a gauge\n\n", "no sample"],
    ['# TYPE a gauge\na{b="\n"} 1\n', "no sample"],
    ['# TYPE a gauge\na{b="1",b="2"} 1\n', "labels"],
    ['# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n', "a series twice"],
    ["# TYPE a counter\na -1\n", "below zero"],
    ["# TYPE a gauge\na 1\n# TYPE a gauge\na 2\n", "twice"],
    ["# HELP b B\n# TYPE a gauge\na 1\n", "HELP of b"],
    [histogram(['h_bucket{le="1"} 1', "h_sum 1", "h_count 1"]), "not a histogram"],
    [histogram(['h_bucket{le="1"} 2', 'h_bucket{le="+Inf"} 1', "h_sum 1", "h_count 1"]), "not a histogram"],
    [histogram(['h_bucket{le="+Inf"} 1', "h_sum 1", "h_count 2"]), "does not add up"]
  ])("refuses %j", (text, message) => {
    assert.throws(() => parseExposition(text), message)
  })
})
