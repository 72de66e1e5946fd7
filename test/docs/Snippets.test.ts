/** The fenced blocks of the documentation: those that are marked are run, or are parts of files that are. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { hasProgram, type Outcome, runShell } from "../support/Commands.ts"
import { readText } from "../support/SourceTree.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { adminKey, layerGateway, TestGateway } from "../support/TestGateway.ts"
import { type Block, manual, pageOf, pages } from "./DocumentPages.ts"

/** Every command loads the program anew, on a machine that may be busy with other suites. */
const commandsTimeout = 300_000

const blocks = pages.flatMap((page) => page.blocks)
const placeOf = ({ line, page }: Block): string => `${page}:${line}`

const runnable = blocks.flatMap((block) => (block.mark?._tag === "Runs" ? [{ ...block, mark: block.mark }] : []))

const check = ({ mark }: (typeof runnable)[number], { code, output }: Outcome): void => {
  assert.strictEqual(code, 0, output)
  if (mark.prints !== undefined) assert.include(output, mark.prints)
}

describe("The blocks of the documentation", () => {
  it("are read with their marks", () => {
    const running = "a\n<!-- runs: x y -->\n\n```sh\none\n```\n```json\n{}\n```\n"
    const text = `${running}<!-- runs offline -->\n\`\`\`sh\n\`\`\`\n<!-- from: a/B.ts -->\n\`\`\`js\ntwo\n\`\`\``
    assert.deepStrictEqual(
      pageOf("p.md", text).blocks.map(({ language, line, mark, text }) => ({ language, line, mark, text })),
      [
        { language: "sh", line: 4, mark: { _tag: "Runs", offline: false, prints: "x y" }, text: "one" },
        { language: "json", line: 7, mark: undefined, text: "{}" },
        { language: "sh", line: 11, mark: { _tag: "Runs", offline: true, prints: undefined }, text: "" },
        { language: "js", line: 14, mark: { _tag: "From", path: "a/B.ts" }, text: "two" }
      ]
    )
  })

  it("run where they are marked as running, and are shell lines", () => {
    assert.isAbove(runnable.length, 10)
    assert.deepStrictEqual(runnable.filter(({ language }) => language !== "sh").map(placeOf), [])
  })

  it("stand in every page of the manual, at least one that runs or is part of a file that does", () => {
    const topics = manual.filter(({ path }) => path === "README.md" || /^docs\/[a-z]+\.md$/.test(path))
    assert.isAbove(topics.length, 10)
    const without = topics.filter(({ blocks }) => !blocks.some(({ mark }) => mark !== undefined))
    assert.deepStrictEqual(
      without.map(({ path }) => path),
      []
    )
  })

  it("are JSON where they say so", () => {
    const isJson = (text: string): boolean => {
      try {
        return JSON.parse(text) !== undefined
      } catch {
        return false
      }
    }
    assert.deepStrictEqual(blocks.filter(({ language, text }) => language === "json" && !isJson(text)).map(placeOf), [])
  })

  it("are word for word in the files they are from", () => {
    const wrong = blocks.filter(({ mark, text }) => mark?._tag === "From" && !readText(mark.path)?.includes(text))
    assert.deepStrictEqual(wrong.map(placeOf), [])
  })
})

onEmbedded.sandbox("The shell blocks of the documentation", (it) => {
  for (const block of runnable.filter(({ mark }) => !mark.offline)) {
    const lacks = block.text.includes("curl") && !hasProgram("curl")
    const name = `${placeOf(block)} runs${lacks ? " (skipped: no curl on this machine)" : ""}`
    it.effect.skipIf(lacks)(
      name,
      () =>
        Effect.gen(function* () {
          const { key, url } = yield* TestGateway
          check(block, yield* runShell(block.text, { TOLLGATE_URL: url, TOLLGATE_KEY: key, ADMIN_API_KEY: adminKey }))
        }),
      commandsTimeout
    )
  }
})

describe("The shell blocks of the documentation, after the gateway was stopped", () => {
  const onStoppedGateway = Effect.gen(function* () {
    const directory = yield* dataDirectory
    yield* Effect.gen(function* () {
      const { chat } = yield* TestGateway
      for (const content of ["Hello", "Why is the sky blue?"]) yield* chat({ messages: [{ role: "user", content }] })
    }).pipe(Effect.provide(layerGateway({ DATA_DIR: directory })), Effect.scoped)
    for (const block of runnable.filter(({ mark }) => mark.offline)) {
      check(block, yield* runShell(block.text, { DATA_DIR: directory }))
    }
  })

  it.live("run on its database", () => onStoppedGateway, commandsTimeout)
})
