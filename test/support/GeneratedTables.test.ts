import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"

import { filled, tables, tablesIn } from "./GeneratedTables.ts"
import { publishedFiles, readText, root } from "./SourceTree.ts"

describe("The generated tables", () => {
  const documents = publishedFiles()
    .filter((path) => /^(README\.md|docs\/.*\.md)$/.test(path))
    .map((path) => ({ path, text: readText(path) ?? "" }))

  for (const document of documents)
    it(`of ${document.path} are what the code declares (UPDATE_DOCS=1 writes them)`, () => {
      const wanted = filled(document)
      if (process.env["UPDATE_DOCS"]) writeFileSync(join(root, document.path), wanted)
      else assert.strictEqual(document.text, wanted)
    })

  it("are all in some document", () => {
    const found = documents.flatMap(({ text }) => tablesIn(text))
    for (const name of Object.keys(tables)) assert.include(found, name, `the table ${name} is in no document`)
  })

  it("replace what is between their markers, and nothing else", () => {
    const known = { one: () => "new", two: () => "newer" }
    const text = "a\n<!-- one:start -->\nold\n<!-- one:end -->\nb <!-- two:start --><!-- two:end -->"
    const wanted = [
      "a\n<!-- one:start -->\n\nnew\n\n<!-- one:end -->",
      "b <!-- two:start -->\n\nnewer\n\n<!-- two:end -->"
    ].join("\n")
    assert.strictEqual(filled({ path: "a.md", text }, known), wanted)
    assert.strictEqual(filled({ path: "a.md", text: wanted }, known), wanted)
    assert.strictEqual(filled({ path: "a.md", text: "no markers" }, known), "no markers")
  })

  it("fail for a marker without its counterpart and for a table that nobody generates", () => {
    const known = { one: () => "new" }
    assert.throws(() => filled({ path: "a.md", text: "<!-- one:start -->" }, known), /starts and does not end/)
    assert.throws(
      () =>
        filled({ path: "a.md", text: "<!-- one:start --><!-- two:start --><!-- two:end --><!-- one:end -->" }, known),
      /starts and does not end/
    )
    assert.throws(
      () => filled({ path: "a.md", text: "<!-- x:start --><!-- x:end -->" }, known),
      /no table of the name x/
    )
  })
})
