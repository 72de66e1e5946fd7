import { assert, describe, it } from "@effect/vitest"

import { csvLine } from "../../src/domain/Csv.ts"

describe("A line of CSV", () => {
  const cells: ReadonlyArray<readonly [cell: string | number | boolean | null, written: string]> = [
    ["plain", "plain"],
    ["", ""],
    [null, ""],
    [true, "true"],
    [-1.5, "-1.5"],
    [1e21, "1e+21"],
    ["-0.000000000001", "-0.000000000001"],
    ["12", "12"],
    ["a,b", '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ["two\nlines", '"two\nlines"'],
    ["=1+1", "'=1+1"],
    ["+1 234", "'+1 234"],
    ["-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\t=1"],
    ["\r=1", '"\'\r=1"'],
    ["\n=1", '"\'\n=1"'],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ["\uff1d1", "'\uff1d1"],
    ["-", "'-"],
    ["a=1", "a=1"]
  ]

  it("quotes what needs it, and makes what a spreadsheet would compute into text", () => {
    for (const [cell, written] of cells) assert.strictEqual(csvLine([cell]), `${written}\r\n`)
    assert.strictEqual(csvLine(["a", null, 3]), "a,,3\r\n")
  })
})
