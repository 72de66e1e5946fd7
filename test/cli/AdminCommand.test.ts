/** What the commands of operators ask before they end access, and what they show of names that others chose. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stdio, Terminal } from "effect"
import { TestConsole } from "effect/testing"

import { affirmed } from "../../src/cli/AdminCommand.ts"
import { printable } from "../../src/cli/AdminOutput.ts"
import { tollgate } from "./Tollgate.ts"

const what = "This revokes key 1 for good"

/** How the question ends on a terminal on which this is typed, or with nobody there. */
const asked = (typed: string | undefined, yes = false) => {
  const isTerminal = Effect.succeed(typed !== undefined)
  return Effect.flip(affirmed(what, yes)).pipe(
    Effect.map(({ message }) => message),
    Effect.catch(() => Effect.succeed("goes on")),
    Effect.provide(
      Layer.merge(
        Stdio.layerTest({ stdinIsTerminal: isTerminal, stderrIsTerminal: isTerminal }),
        Layer.succeed(
          Terminal.Terminal,
          Terminal.make({
            columns: Effect.succeed(80),
            rows: Effect.succeed(24),
            size: Effect.die("unused"),
            readInput: Effect.die("unused"),
            readLine: Effect.succeed(typed ?? ""),
            display: () => Effect.die("the result alone is on standard output")
          })
        )
      )
    )
  )
}

describe("A command that ends access", () => {
  it.effect("asks on a terminal, and goes on after a clear yes alone", () =>
    Effect.gen(function* () {
      for (const typed of ["y", "Yes", " yes "]) assert.strictEqual(yield* asked(typed), "goes on")
      for (const typed of ["", "n", "yesterday"]) assert.strictEqual(yield* asked(typed), "Nothing was changed")
      assert.include((yield* TestConsole.errorLines).join("\n"), `${what}. Is that meant? (y/N)`)
    })
  )

  it.effect("does not ask with --yes, and goes no further where nobody can be asked", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* asked(undefined, true), "goes on")
      assert.strictEqual(yield* asked(undefined), `${what}: give --yes if that is meant`)
      assert.deepStrictEqual(yield* TestConsole.errorLines, [])
    })
  )
})

describe("What others have named", () => {
  it("is shown without what could rewrite a terminal or hide text", () => {
    assert.strictEqual(printable("Größe 5 — «ok» 日本"), "Größe 5 — «ok» 日本")
    assert.strictEqual(printable("a\u001B[31m\nb\u202Ec"), "a\\u{1b}[31m\\u{a}b\\u{202e}c")
  })
})

describe("Shell completions", () => {
  it.live("are printed for bash, zsh and fish, with the commands of operators", () =>
    Effect.gen(function* () {
      for (const shell of ["bash", "zsh", "fish"]) {
        const { code, err, out } = yield* tollgate({}, ["--completions", shell])
        assert.deepStrictEqual([code, err], [0, ""])
        for (const word of [
          "admin-key",
          "credit",
          "journal",
          "overlap",
          "requests",
          "failed-over",
          "providers",
          "catalog"
        ])
          assert.include(out, word, shell)
      }
    })
  )
})
