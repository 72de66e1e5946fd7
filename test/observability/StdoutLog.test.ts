import { execFile } from "node:child_process"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, Redacted } from "effect"

import { plainLine } from "../../src/observability/StdoutLog.ts"

/** What Effect's logger and ours make of the log lines of an effect. */
const linesOf = (effect: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const lines: Array<{ readonly expected: string; readonly actual: string | undefined }> = []
    const logger = Logger.make<unknown, void>((options) => {
      lines.push({ expected: Logger.formatJson.log(options), actual: plainLine(options) })
    })
    yield* Effect.provide(effect, Logger.layer([logger]))
    return lines
  })

const module = join(import.meta.dirname, "../../src/observability/StdoutLog.ts")

/** The lines that a program of its own writes to a pipe. */
const written = (program: string): Promise<{ readonly code: number; readonly lines: ReadonlyArray<string> }> =>
  new Promise((resolve) => {
    const source = `
      import { Effect } from "effect"
      import { stdoutLogLayer } from ${JSON.stringify(module)}
      const run = (effect) => Effect.runSync(Effect.provide(effect, stdoutLogLayer({ logLevel: "Info" })))
      ${program}`
    const child = execFile(
      process.execPath,
      ["--input-type=module", "--eval", source],
      { cwd: join(import.meta.dirname, "../..") },
      (_error, stdout) => resolve({ code: child.exitCode ?? 0, lines: stdout.split("\n").slice(0, -1) })
    )
  })

const messagesOf = (lines: ReadonlyArray<string>) =>
  lines.map((line): unknown => (JSON.parse(line) as { readonly message: unknown }).message)

describe("the log on standard output", () => {
  it.effect("has the lines of Effect's own logger", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf(
        Effect.gen(function* () {
          yield* Effect.logInfo("Request")
          yield* Effect.logWarning('A "quoted" text, with ü and \n')
          yield* Effect.annotateLogs(Effect.logInfo("Request"), { status: 200, routed: false, model: "gpt-4o-mini" })
        })
      )
      assert.strictEqual(lines.length, 3)
      for (const { actual, expected } of lines) assert.strictEqual(actual, expected)
    })
  )

  it.effect("leaves to Effect's logger what may have to be left out or written in another way", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf(
        Effect.gen(function* () {
          yield* Effect.logInfo("two", "messages")
          yield* Effect.logInfo({ an: "object" })
          yield* Effect.logError("failed", Cause.fail("because"))
          yield* Effect.annotateLogs(Effect.logInfo("secret"), { key: Redacted.make("tg-1") })
          yield* Effect.annotateLogs(Effect.logInfo("large"), { amount: 10n })
          yield* Effect.annotateLogs(Effect.logInfo("nested"), { value: { inner: Redacted.make("tg-1") } })
          yield* Effect.annotateLogs(Effect.logInfo("nothing"), { value: undefined })
          yield* Effect.withLogSpan(Effect.logInfo("timed"), "span")
        })
      )
      assert.deepStrictEqual(
        lines.map(({ actual }) => actual),
        Array.from({ length: 8 }, () => undefined)
      )
    })
  )

  it.effect("keeps the order of lines of several turns, and writes the last ones at the exit", () =>
    Effect.gen(function* () {
      const { code, lines } = yield* Effect.promise(() =>
        written(`
          run(Effect.logInfo("one"))
          run(Effect.logInfo("two"))
          setTimeout(() => {
            run(Effect.logInfo("three"))
            run(Effect.logInfo("four", "five"))
            process.exit(3)
          }, 1)`)
      )
      assert.deepStrictEqual(messagesOf(lines), ["one", "two", "three", ["four", "five"]])
      assert.strictEqual(code, 3)
    })
  )

  it.effect("loses no line of a turn that writes many, nor of a process that fails", () =>
    Effect.gen(function* () {
      const { code, lines } = yield* Effect.promise(() =>
        written(`
          for (let index = 0; index < 2_000; index++) run(Effect.logInfo(\`line \${index} \${"x".repeat(100)}\`))
          throw new Error("a defect")`)
      )
      assert.strictEqual(lines.length, 2_000)
      assert.match(lines.at(-1) ?? "", /line 1999 x/)
      assert.strictEqual(code, 1)
    })
  )
})
