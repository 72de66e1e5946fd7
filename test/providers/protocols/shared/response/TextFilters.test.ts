import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import {
  stopAt,
  type TextFilter,
  withoutThinkTags
} from "../../../../../src/providers/protocols/shared/response/TextFilters.ts"
import { pieces, Sizes } from "../../fragments.ts"

const passed = (filter: TextFilter, text: string, sizes: ReadonlyArray<number>): string =>
  pieces(text, sizes)
    .map((piece) => filter.push(piece))
    .join("") + filter.flush()

const textOf = (...parts: ReadonlyArray<string>) => Schema.Array(Schema.Literals(parts)).check(Schema.isMaxLength(12))

describe("stop sequences", () => {
  const sequences = ["END", "\n\n", "EN!"]

  it.prop(
    "cut the text at the first of them, however it arrives",
    { Parts: textOf("E", "N", "D", "!", "\n", "a"), Sizes },
    (made) => {
      const text = made.Parts.join("")
      const first = Math.min(...sequences.map((sequence) => text.indexOf(sequence)).filter((start) => start >= 0))
      let stops = 0
      const kept = passed(
        stopAt(sequences, () => stops++),
        text,
        made.Sizes
      )
      assert.strictEqual(kept, text.slice(0, first))
      assert.strictEqual(stops, first === Infinity ? 0 : 1)
    }
  )
})

describe("think tags", () => {
  it.prop(
    "are taken off the start of the text with what is inside, however it arrives",
    { Parts: textOf("<think>", "</think>", "<thi", "nk>", "a", " "), Sizes },
    (made) => {
      const text = made.Parts.join("")
      const [, inside, after] = /^\s*<think>([^]*?)(?:<\/think>\s*([^]*))?$/.exec(text) ?? []
      let reasoning = ""
      const content = passed(
        withoutThinkTags((piece) => (reasoning += piece)),
        text,
        made.Sizes
      )
      assert.strictEqual(reasoning, inside ?? "")
      assert.strictEqual(content, inside === undefined ? text : (after ?? ""))
    }
  )
})
