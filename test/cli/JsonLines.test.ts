import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"

import { jsonLines, lineLengthMax } from "../../src/cli/JsonLines.ts"

const linesOf = (pieces: ReadonlyArray<string>) => Stream.runCollect(jsonLines(Stream.fromIterable(pieces)))

const Piece = Schema.Array(Schema.Literals(["a", "{}", "\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\v", " "]))

describe("JSON lines", () => {
  it.effect.prop(
    "end at line feeds only, wherever the text was cut into chunks",
    { pieces: Schema.Array(Piece) },
    ({ pieces }) =>
      Effect.gen(function* () {
        const texts = pieces.map((piece) => piece.join(""))
        const found = (yield* linesOf(texts)).map(Result.getOrThrow)
        const expected = texts.join("").split("\n")
        assert.deepStrictEqual(
          found.map((line) => line.trim()),
          expected.map((line) => line.trim()).filter((line) => line !== "")
        )
      })
  )

  it.effect("that are too long are replaced by an error, and the following lines are still read", () =>
    Effect.gen(function* () {
      const half = "x".repeat(lineLengthMax / 2)
      const found = yield* linesOf(["a\n", half, half, "x", half, "\nb\n", half, `${half}\n`, half, half, half])
      assert.deepStrictEqual(
        found.map((line) => (Result.isSuccess(line) ? line.success.length : line.failure.error.code)),
        [1, "request_too_large", 1, lineLengthMax, "request_too_large"]
      )
    })
  )
})
