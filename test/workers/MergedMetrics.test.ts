import { assert, describe, it } from "@effect/vitest"

import { mergedMetrics } from "../../src/workers/MergedMetrics.ts"
import { parseExposition, sumOf } from "../support/Exposition.ts"

const report = (requests: number) =>
  [
    "# HELP a_total All.",
    "# TYPE a_total counter",
    `a_total{b="x y{"} ${requests}`,
    'a_total{b="z"} 1',
    "# TYPE c gauge",
    "c 2",
    "# TYPE h histogram",
    'h_bucket{le="1"} 1',
    'h_bucket{le="+Inf"} 2',
    "h_sum 3",
    "h_count 2",
    ""
  ].join("\n")

describe("The metrics of several workers", () => {
  it("are one text, in which every series names its worker", () => {
    const text = mergedMetrics({
      reports: [
        { slot: 2, text: `${report(7)}# TYPE only_here gauge\nonly_here 1\n` },
        { slot: 0, text: report(5) }
      ],
      restarts: [0, 4, 1]
    })
    const families = parseExposition(text)
    assert.deepStrictEqual(families.get("a_total")?.samples, [
      { name: "a_total", labels: { worker: "0", b: "x y{" }, value: 5 },
      { name: "a_total", labels: { worker: "0", b: "z" }, value: 1 },
      { name: "a_total", labels: { worker: "2", b: "x y{" }, value: 7 },
      { name: "a_total", labels: { worker: "2", b: "z" }, value: 1 }
    ])
    assert.strictEqual(families.get("a_total")?.help, "All.")
    assert.strictEqual(sumOf(families, "c", { worker: "2" }), 2)
    assert.strictEqual(sumOf(families, "h_bucket", { worker: "0", le: "+Inf" }), 2)
    assert.strictEqual(sumOf(families, "only_here", { worker: "2" }), 1)
    assert.strictEqual(sumOf(families, "tollgate_workers_missing"), 1)
    assert.strictEqual(sumOf(families, "tollgate_worker_restarts_total", { worker: "1" }), 4)
  })
})
