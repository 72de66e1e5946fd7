import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"

import { lengthMax, lines } from "../../src/cli/RouteLines.ts"

const linesOf = (pieces: ReadonlyArray<string>) => Stream.runCollect(lines(Stream.fromIterable(pieces)))

const Piece = Schema.Array(Schema.Literals(["a", "{}", "\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\v", " "]))

describe("lines", () => {
  it.effect.prop("end at line feeds alone, wherever the text was cut", { pieces: Schema.Array(Piece) }, ({ pieces }) =>
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

  it.effect("that are too long are refused in their place, and hold nothing up", () =>
    Effect.gen(function* () {
      const half = "x".repeat(lengthMax / 2)
      const found = yield* linesOf(["a\n", half, half, "x", half, "\nb\n", half, `${half}\n`, half, half, half])
      assert.deepStrictEqual(
        found.map((line) => (Result.isSuccess(line) ? line.success.length : line.failure.error.code)),
        [1, "request_too_large", 1, lengthMax, "request_too_large"]
      )
    })
  )
})
